"""Views: what people and programs are shown. They read and never decide.

board_cards, board_text  the board;  status  how far each feature is;  failures  what failed
validation  feature-validate;  judge_eval  how accurate a judge is;  report/  the report
setup       diagnosis and repairs, command files, configuration;  terminal/  runs while they happen
"""
