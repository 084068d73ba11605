"""Every fault that a test tries is counted."""

import pytest
from fault_table import trying


@pytest.fixture
def tried(record_property):
    return trying(record_property)
