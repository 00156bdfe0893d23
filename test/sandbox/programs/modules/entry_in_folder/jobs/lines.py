def text():
    return "from beside the entry"
