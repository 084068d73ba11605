from hypothesis import settings

settings.register_profile("tracing", deadline=None)  # the first call may compile
settings.load_profile("tracing")
