"""The folders of questions that the evaluation is tested on."""

from question_folders import paragraphs, story, talk

__all__ = ["paragraphs", "story", "talk"]
