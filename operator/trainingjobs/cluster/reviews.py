"""Whose token this is and what that one may do: two questions that the API server answers.

No signature is checked here and no rule of RBAC is known here: whoever may look at a job with
kubectl may look at it with us, and a token that the API server has given up is given up.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from trainingjobs.cluster import paths
from trainingjobs.cluster.api import Api
from trainingjobs.model import labels

_POD_NAME = "authentication.kubernetes.io/pod-name"
_POD_UID = "authentication.kubernetes.io/pod-uid"
_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Whom the API server takes the bearer of a token for."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def namespace(self) -> str | None:
        """The namespace of a service account."""
        if not self.name.startswith(_ACCOUNT):
            return None
        return self.name.removeprefix(_ACCOUNT).partition(":")[0]

    @property
    def pod(self) -> str | None:
        """The name of the pod that the token is bound to."""
        return next(iter(self.extra.get(_POD_NAME, ())), None)

    @property
    def pod_uid(self) -> str | None:
        """The uid of the pod that the token is bound to."""
        return next(iter(self.extra.get(_POD_UID, ())), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody would do; in all namespaces where it names none, to all where it names none."""

    verb: str
    namespace: str
    name: str = ""
    group: str = ""
    resource: str
    subresource: str = ""


def get_job(namespace: str, name: str) -> Wish:
    """Get one TrainingJob."""
    return Wish(
        verb="get", namespace=namespace, name=name, group=labels.GROUP, resource=labels.PLURAL
    )


def list_jobs(namespace: str) -> Wish:
    """List the TrainingJobs of a namespace; of all, where it is ""."""
    return Wish(verb="list", namespace=namespace, group=labels.GROUP, resource=labels.PLURAL)


def read_log(namespace: str, pod: str) -> Wish:
    """Read the log of one pod."""
    return Wish(verb="get", namespace=namespace, name=pod, resource="pods", subresource="log")


def list_events(namespace: str) -> Wish:
    """List the events of a namespace."""
    return Wish(verb="list", namespace=namespace, resource="events")


class Reviews:
    """Asks; each answer is one request."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def user(self, token: str, audience: str | None = None) -> User | None:
        """Whose token it is; None where it is nobody's, or for another audience.

        Raises:
            ApiError: when the API server does not say.
        """
        spec: dict[str, Any] = {"token": token}
        if audience is not None:
            spec["audiences"] = [audience]
        status = await self._ask(paths.TOKEN_REVIEWS, "TokenReview", spec)
        # an authenticator that knows of no audiences names none in its answer
        meant = audience is None or audience in (status.get("audiences") or ())
        if not status.get("authenticated") or not meant:
            return None
        user = status.get("user") or {}
        return User(
            name=user.get("username", ""),
            uid=user.get("uid", ""),
            groups=tuple(user.get("groups") or ()),
            extra={key: tuple(values) for key, values in (user.get("extra") or {}).items()},
        )

    async def may(self, user: User, wish: Wish) -> bool:
        """True when this user may do this.

        Raises:
            ApiError: when the API server does not say.
        """
        wanted = {name: value for name, value in asdict(wish).items() if value}
        spec = {
            "user": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "extra": {key: list(values) for key, values in user.extra.items()},
            "resourceAttributes": {"version": "v1", **wanted},
        }
        status = await self._ask(paths.ACCESS_REVIEWS, "SubjectAccessReview", spec)
        return bool(status.get("allowed")) and not status.get("denied")

    async def _ask(self, path: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        version = path.removeprefix("/apis/").rpartition("/")[0]
        body = {"apiVersion": version, "kind": kind, "metadata": {}, "spec": spec}
        answer = await self._api.request("POST", path, body=body)
        status: dict[str, Any] = answer.get("status") or {}
        return status
