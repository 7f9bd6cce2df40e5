"""Views: what people and programs are shown. They read and never decide.

board_cards, board_text  the board;  status  how far each feature is;  tasks  its tasks, and attempts that failed
validation  feature-validate;  figures  statistics, and how accurate a judge is;  report/  the report
setup       diagnosis and repairs, command files, configuration;  terminal/  runs while they happen
"""
