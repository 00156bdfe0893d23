import email.message
import xml.etree.ElementTree as tree
from configparser import ConfigParser


def main():
    message = email.message.EmailMessage()
    message["Subject"] = "Grüße"
    message.set_content("text")
    root = tree.fromstring("<a><b x='1'>ä</b></a>")
    parser = ConfigParser()
    parser.read_string("[a]\nb=1")
    return [message.as_string(), root[0].attrib, root[0].text, parser["a"]["b"]]
