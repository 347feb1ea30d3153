"""The words that made-up sentences consist of, the most frequent first."""

from functools import lru_cache
from itertools import chain, zip_longest

from penstock.errors import UnknownName


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


STOP_WORDS: dict[str, tuple[str, ...]] = {
    "en": _words(
        """
        the of and to a in is it that was for on with he as i his they at be this from have or by one had not but
        what all were when we there can an your which their if do will each about how up out them then she many some
        so these would other into has more her two like him see time could no make than been its who now my
        """
    ),
    "es": _words(
        """
        de la que el en y a los se del las un por con no una su para es al lo como pero sus le ha me si sin sobre
        este ya entre cuando todo esta ser son dos fue era muy desde nos durante uno ni contra ellos
        """
    ),
    "fr": _words(
        """
        de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec son ses
        mais comme on tout nous sa aux elle leur deux ou cette peut fait entre sans bien encore aussi
        """
    ),
    "de": _words(
        """
        der die und in den von zu das mit sich des auf ist im dem nicht ein eine als auch es an werden aus er hat
        dass sie nach wird bei einer um am sind noch wie einem so zum war haben nur oder aber vor zur bis
        """
    ),
}
"""Words that carry little meaning, by language."""

POSITIVE_WORDS = _words(
    """
        good great happy love wonderful best nice excellent win beautiful amazing joy perfect hope fun smile
        brilliant enjoy thanks proud lovely delight superb success glad sweet charming bright calm cheerful kind
        generous fantastic fortunate friendly graceful grateful honest inspired laugh lucky marvellous peaceful
        pleasant praise safe splendid strong sunny triumph warm welcome
        """
)
"""Words that speak of something pleasant."""

NEGATIVE_WORDS = _words(
    """
        bad sad hate terrible worst angry awful fear lose ugly horrible pain broken fail poor cry dreadful annoying
        sorry shame nasty misery dire failure upset bitter cruel dark gloomy rude mean disgusting unlucky hostile
        ugliness liar cursed jealous grim alarming tragic lonely dull hurt wrath doom danger gloom weak storm cold
        reject
        """
)
"""Words that speak of something unpleasant."""

SPAM_WORDS = _words(
    """
        free winner prize claim urgent cash guaranteed offer click bonus txt credit loan cheap discount subscribe
        unlimited voucher congratulations exclusive selected reply award mobile ringtone entitled expires apply jackpot
        casino pills refund verify password limited order deal unsubscribe investment earn rich
        """
)
"""Words that advertise: frequent in spam, rare elsewhere."""

EMERGENCY_WORDS = _words(
    """
        terremoto sismo réplica temblor tsunami alerta ayuda emergencia víctimas heridos rescate bomberos hospital
        carabineros daños derrumbe edificio puente evacuación refugio desaparecidos familia agua luz epicentro costa
        grados magnitud sobrevivientes donaciones voluntarios escombros
        """
)
"""Spanish words that speak of an earthquake and what it takes to help."""

_SUBJECTS: dict[str, tuple[str, ...]] = {
    "en": _words(
        """
        people day game news music city team world video school money family house water team work show night year
        friend party book phone movie song match player road car train market price country president law court vote
        street river weather summer winter coffee food kitchen garden dog cat bird tree sea island mountain doctor
        hospital teacher student class paper letter story picture camera computer network server data stream event
        window engine bridge station airport flight hotel ticket travel holiday morning evening week month church
        king queen war peace history science energy power light sound voice hand head heart eye face child mother
        father brother sister baby job office company bank shop bread fruit apple wine beer tea sugar salt colour
        shirt shoe coat door key table chair bed room wall floor roof street corner north south east west gold
        silver iron stone sand fire wind rain snow cloud sun moon star planet space rocket machine wheel ball goal
        race medal record coach league season final score ship boat harbour fish farm horse cow sheep field forest
        flower grass hill lake valley village town mayor police soldier writer actor singer painter film theatre
        stage dance guitar piano drum radio television internet page link message answer question problem idea plan
        project report result number letter word language sentence test exam prize gift birthday wedding
        """
    ),
    "es": _words(
        """
        casa tiempo vida mundo ciudad gente agua trabajo noche madre padre escuela libro calle amigo coche comida
        mesa puerta ventana perro gato sol luna mar playa montaña río camino tren barco avión música película
        partido equipo dinero mercado tienda pan vino leche huevo verano invierno mañana tarde semana año feliz
        triste bueno malo
        """
    ),
    "fr": _words(
        """
        maison temps vie monde ville gens eau travail nuit mère père école livre rue ami voiture repas table porte
        fenêtre chien chat soleil lune mer plage montagne rivière chemin train bateau avion musique film match
        équipe argent marché magasin pain vin lait oeuf été hiver matin soir semaine année heureux triste bon
        mauvais
        """
    ),
    "de": _words(
        """
        haus zeit leben welt stadt leute wasser arbeit nacht mutter vater schule buch straße freund auto essen tisch
        tür fenster hund katze sonne mond meer strand berg fluss weg zug schiff flugzeug musik film spiel mannschaft
        geld markt laden brot wein milch ei sommer winter morgen abend woche jahr glücklich traurig gut schlecht
        """
    ),
}

_ENDINGS = ("s", "er", "like", "less", "ful", "ness", "land", "side", "man", "work")


@lru_cache(maxsize=8)
def vocabulary(language: str) -> tuple[str, ...]:
    """All words of `language`, the most frequent first: stop words, then subjects mixed with words of feeling."""
    if language not in STOP_WORDS:
        raise UnknownName.of("language", language, STOP_WORDS)
    subjects = tuple(dict.fromkeys(_SUBJECTS[language]))
    if language != "en":
        return STOP_WORDS[language] + subjects
    mixed = zip_longest(subjects[0::2], subjects[1::2], POSITIVE_WORDS, NEGATIVE_WORDS)
    common = [word for word in chain.from_iterable(mixed) if word is not None]
    # Compounds make the long tail of rare words that every real text has.
    rare = [subject + ending for ending in _ENDINGS for subject in subjects]
    return tuple(dict.fromkeys([*STOP_WORDS[language], *common, *rare]))


@lru_cache(maxsize=1)
def tweet_words() -> tuple[str, ...]:
    """The words of Spanish tweets on the day of an earthquake, the most frequent first."""
    mixed = zip_longest(STOP_WORDS["es"], EMERGENCY_WORDS, dict.fromkeys(_SUBJECTS["es"]))
    return tuple(dict.fromkeys(word for word in chain.from_iterable(mixed) if word is not None))
