import io

from PIL import Image, ImageDraw, ImageFilter


def main():
    image = Image.new("RGB", (32, 32), "red")
    ImageDraw.Draw(image).ellipse((4, 4, 28, 28), fill="blue")
    data = io.BytesIO()
    image.save(data, "JPEG")
    return {"image": image, "size": Image.open(data).size, "blurred": image.filter(ImageFilter.BLUR).getpixel((0, 0)), "extrema": image.getextrema()}
