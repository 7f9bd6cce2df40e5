"""Views: what people and programs are shown of runs. They read and never decide."""
