"""The Python door: designs in, results out, for scripts and notebooks; `import ffplan` reaches it lazily."""

from ffplan.api.views import frame, html
from ffplan.results.result import VIEWS

VIEWS.update(frame=frame, html=html)
