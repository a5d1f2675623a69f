"""The later half of the lessons in the browser, in a file of its own so that two processes share this longest part."""

import test_browser
from test_browser import NAMES, run_lessons

lesson = run_lessons(NAMES[len(NAMES) // 2 :])

# The tests for every lesson, as they stand there.
test_a_lesson_runs_without_an_error = test_browser.test_a_lesson_runs_without_an_error
test_every_explore_is_there = test_browser.test_every_explore_is_there
test_every_control_moves_and_back = test_browser.test_every_control_moves_the_result_and_back_without_flicker
test_a_quick_drag_ends_on_its_last_value = test_browser.test_a_quick_drag_ends_on_its_last_value
test_every_control_has_a_name = test_browser.test_every_control_has_a_name_and_is_reached_by_tab
test_axe_has_no_serious_finding = test_browser.test_axe_has_no_serious_finding
test_every_picture_is_described = test_browser.test_every_picture_is_described
test_in_class_all_can_be_read = test_browser.test_in_class_all_can_be_read_from_the_last_row


def test_none_of_the_tests_for_every_lesson_is_missing():
    asked = [value for value in vars(test_browser).values() if getattr(value, "__name__", "").startswith("test_")]
    of_lessons = {test for test in asked if "lesson" in test.__code__.co_varnames[: test.__code__.co_argcount]}
    assert of_lessons == {value for name, value in globals().items() if name.startswith("test_") and value in asked}
