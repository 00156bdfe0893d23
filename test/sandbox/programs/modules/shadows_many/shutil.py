OWN = "my shutil"
