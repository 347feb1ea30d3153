"""Every registered policy, with its default parameters, and some others keep the contract of a policy."""

from typing import Any

import pytest

from penstock.policies import POLICIES, Policy, policy
from penstock.testing import PolicyContract

NOT_MONOTONE: frozenset[str] = frozenset()


class TestRegisteredPolicies(PolicyContract):
    """New policies are picked up by themselves; those that do not promise monotonicity are listed above."""

    @pytest.fixture(autouse=True, params=sorted(POLICIES))
    def _choose(self, request: pytest.FixtureRequest) -> None:
        self.name = request.param
        self.monotone_in_load = self.name not in NOT_MONOTONE

    def make_policy(self) -> Policy[Any]:
        return policy(self.name)


class TestOverprovisioned(PolicyContract):
    needs_data = False

    def make_policy(self) -> Policy[Any]:
        return policy("static:largest")


class TestStaticOfGivenSize(PolicyContract):
    needs_data = False

    def make_policy(self) -> Policy[Any]:
        return policy("static:parallelism=3,workers=2")


class TestDs2AsPublished(PolicyContract):
    def make_policy(self) -> Policy[Any]:
        return policy("ds2:utilisation=1,tolerance=0,activation_rounds=1,warm_up_s=0")


class TestDs2ThatCatchesUp(PolicyContract):
    def make_policy(self) -> Policy[Any]:
        return policy("ds2:catch_up_s=120")


class TestEagerThreshold(PolicyContract):
    def make_policy(self) -> Policy[Any]:
        return policy("threshold:upper=0.9,lower=0.3,gap=0.1,cooldown_rounds=0,window_s=10")
