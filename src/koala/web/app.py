"""The FastAPI application: routes, error handlers, and workers that do the computing."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from koala import __version__
from koala.bundled.examples import list_examples, read_example
from koala.errors import KoalaError
from koala.registry import Trackers
from koala.web.errors import RequestError, build_answer, find_problem
from koala.web.export import TYPES, ExportFormat, ExportView, write_export
from koala.web.guard import Guard
from koala.web.limits import Limits
from koala.web.pages import read_files, read_swagger_files
from koala.web.schemas import (
    ERRORS,
    Documents,
    ExampleValue,
    Grids,
    GridValue,
    Health,
    ModelValue,
)
from koala.web.service import check_documents, track_documents
from koala.web.worker import IsWanted, QueueFullError, StoppedError, TooSlowError, Worker

T = TypeVar("T")
_DESCRIPTION = (
    "koala reads a text that describes a procedure and predicts, for every entity and every step, "
    "whether the entity is created, moved or destroyed, and where it is."
)


def build_app(trackers: Trackers, limits: Limits | None = None) -> FastAPI:
    """Build the application; from now on, only its worker thread may use the trackers."""
    limits = limits or Limits()
    tracking = Worker(limits.waiting, name="tracker")
    drawing = Worker(limits.waiting, name="drawing")

    @asynccontextmanager
    async def live(_app: FastAPI) -> AsyncIterator[None]:
        yield
        stop(app)

    app = FastAPI(
        title="koala",
        version=__version__,
        description=_DESCRIPTION,
        # FastAPI's own pages load scripts from a CDN and run inline scripts, which the content
        # security policy forbids; `/docs` below serves the same Swagger UI without either.
        docs_url=None,
        redoc_url=None,
        lifespan=live,
    )
    app.state.workers = (tracking, drawing)
    app.add_middleware(Guard, limits=limits)
    _add_errors(app)
    _add_pages(app)
    _add_information(app, trackers, tracking, limits)
    _add_tracking(app, trackers, tracking, limits)
    _add_export(app, drawing, limits)
    return app


def stop(app: FastAPI) -> None:
    """Accept no more work; requests in the queue are answered with 503."""
    for worker in app.state.workers:
        worker.stop()


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(404)
    async def find_nothing(request: Request, _error: HTTPException) -> Response:
        message = f"Path {request.url.path} does not exist. The API is described at /docs."
        return build_answer(HTTPException(404, message))

    @app.exception_handler(HTTPException)
    async def refuse(_request: Request, error: HTTPException) -> Response:
        return build_answer(error)

    @app.exception_handler(RequestValidationError)
    async def explain(_request: Request, error: RequestValidationError) -> Response:
        return build_answer(find_problem(error.errors()))

    @app.exception_handler(Exception)
    async def fail(_request: Request, _error: Exception) -> Response:
        # The traceback is in the server's log, not in the response.
        message = "Internal server error; see the server's log."
        return build_answer(RequestError(500, "internal", message))


def _add_pages(app: FastAPI) -> None:
    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> Response:
        return static("index.html")

    @app.api_route("/docs", methods=["GET", "HEAD"], include_in_schema=False)
    async def reference() -> Response:
        return static("docs.html")

    @app.api_route("/static/{name}", methods=["GET", "HEAD"], include_in_schema=False)
    async def asset(name: str) -> Response:
        return static(name)

    def static(name: str) -> Response:
        for read in (read_files, read_swagger_files):
            if name in read():
                content, kind = read()[name]
                return Response(content, media_type=kind)
        raise HTTPException(404)


def _add_information(app: FastAPI, trackers: Trackers, worker: Worker, limits: Limits) -> None:
    @app.get("/api/health", response_description="The server is up.")
    async def health() -> Health:
        """Give the version, the models, the length of the queue and the limits of the server."""
        models = [
            ModelValue(name=name, signature=signature)
            for name, signature in trackers.signatures.items()
        ]
        return Health(
            status="ok",
            version=__version__,
            model=models[0].signature,
            models=models,
            waiting=worker.waiting,
            limits=asdict(limits),
        )

    @app.get("/api/examples", response_description="The examples.")
    async def examples() -> list[ExampleValue]:
        """Give the bundled example procedures: texts with the entities to track."""
        return [_build_example(name) for name in list_examples()]


def _build_example(name: str) -> ExampleValue:
    grid = read_example(name)
    return ExampleValue(
        name=name, title=grid.id, text="\n".join(grid.steps), entities=list(grid.names)
    )


def _add_tracking(app: FastAPI, trackers: Trackers, worker: Worker, limits: Limits) -> None:
    @app.post(
        "/api/track",
        response_class=Response,
        responses={
            **ERRORS,
            200: {"model": GridValue | list[GridValue], "description": "The grid or grids."},
        },
    )
    async def track(request: Request, documents: Documents) -> Response:
        """Track one procedure or a list of them; the response is one grid or a list of grids."""
        in_list = isinstance(documents, list)
        wanted = documents if isinstance(documents, list) else [documents]
        check_documents(wanted, limits, trackers.choices, in_list=in_list)

        def work(is_wanted: IsWanted) -> bytes:
            return track_documents(trackers, wanted, limits, is_wanted, in_list=in_list)

        answer = await _do(worker, work, request, limits)
        return Response(answer, media_type="application/json")


def _add_export(app: FastAPI, worker: Worker, limits: Limits) -> None:
    contents: dict[str, Any] = {kind.partition(";")[0]: {} for kind, _ in TYPES.values()}

    @app.post(
        "/api/export",
        response_class=Response,
        responses={**ERRORS, 200: {"content": contents, "description": "The file."}},
    )
    async def export(
        request: Request,
        grids: Grids,
        format: Annotated[ExportFormat, Query(description="Format of the file.")],
        view: Annotated[
            ExportView | None, Query(description="A view of the grid, as JSON or HTML.")
        ] = None,
        title: Annotated[
            str, Query(description="Title of an example; default: the id of the grid.")
        ] = "",
        topic: Annotated[str, Query(description="Sub-field of an example.")] = "",
    ) -> Response:
        """Convert one grid or several, as returned by `/api/track`, to a file.

        The format `example` is that of koala's own corpus, from which trackers learn.
        """
        values = grids if isinstance(grids, list) else [grids]

        def work(_is_wanted: IsWanted) -> str:
            try:
                return write_export(values, format, view=view, title=title, topic=topic)
            except KoalaError as error:
                raise RequestError(422, "not_exported", str(error)) from None

        answer = await _do(worker, work, request, limits)
        kind, ending = TYPES[format]
        # An attachment: the browser saves the file and never shows it under the server's origin.
        headers = {"content-disposition": f'attachment; filename="grid.{ending}"'}
        return Response(answer, media_type=kind, headers=headers)


async def _do(worker: Worker, work: Callable[[IsWanted], T], request: Request, limits: Limits) -> T:
    """Run work while the client waits; turn failures of the queue into error responses."""
    try:
        return await _while_there(request, worker.do(work, seconds=limits.seconds))
    except QueueFullError:
        raise RequestError(
            429,
            "busy",
            f"The queue is full ({limits.waiting} requests). Try again soon.",
            headers={"retry-after": "1"},
        ) from None
    except StoppedError:
        raise RequestError(
            503, "stopping", "The server is stopping.", headers={"retry-after": "5"}
        ) from None
    except TooSlowError:
        message = (
            f"The request took more than {limits.seconds:g} seconds, including the time in the "
            "queue. Send less text, or try again later."
        )
        raise RequestError(503, "too_slow", message, headers={"retry-after": "5"}) from None


async def _while_there(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Wait for the work; if the client disconnects first, cancel it and free its queue slot."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_wait_until_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise RequestError(499, "gone", "The client has disconnected.")
        return task.result()
    finally:
        gone.cancel()
        task.cancel()


async def _wait_until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
