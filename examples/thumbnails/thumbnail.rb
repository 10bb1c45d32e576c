# frozen_string_literal: true

require "zlib"

# A small copy of an image, in plain Ruby: each pixel is the mean of a square of the image.
#
#   Thumbnail.of("photo.ppm").write("photo.png")
#
# Reads PPM (P6, https://netpbm.sourceforge.net/doc/ppm.html) and writes PNG
# (https://www.w3.org/TR/png/).
class Thumbnail
  WIDTH = 96
  HEADER = /\AP6\s+(\d+)\s+(\d+)\s+255\s/n
  SIGNATURE = "\x89PNG\r\n\x1A\n".b

  attr_reader :width, :height, :pixels # red, green, blue, and so on, by rows

  def self.of(path)
    image = File.binread(path)
    header = HEADER.match(image) or raise ArgumentError, "#{path} is no PPM image"
    new(*header.captures.map(&:to_i), header.post_match)
  end

  def initialize(width, height, bytes)
    @step = [width / WIDTH, 1].max
    @width, @height = width / @step, height / @step
    @pixels = shrink(bytes, width * 3)
  end

  # Writes the whole file or none; writing it twice gives the same result.
  def write(path)
    unfinished = "#{path}.#{Process.pid}"
    File.binwrite(unfinished, png)
    File.rename(unfinished, path)
  end

  def png
    rows = pixels.each_slice(width * 3).map { |row| [0, *row].pack("C*") }
    SIGNATURE + chunk("IHDR", [width, height, 8, 2, 0, 0, 0].pack("N2C5")) +
      chunk("IDAT", Zlib.deflate(rows.join)) + chunk("IEND", "")
  end

  private

  def shrink(bytes, row_size)
    (0...height).flat_map do |y|
      sums = Array.new(width * 3, 0)
      @step.times { |line| add_row(bytes, ((y * @step) + line) * row_size, sums) }
      sums.map { |sum| sum / (@step * @step) }
    end
  end

  def add_row(bytes, start, sums)
    width.times do |x|
      from = start + (x * @step * 3)
      from.step(from + (@step * 3) - 1, 3) do |at|
        3.times { |colour| sums[(x * 3) + colour] += bytes.getbyte(at + colour) }
      end
    end
  end

  def chunk(type, data)
    [data.bytesize].pack("N") + type + data + [Zlib.crc32(type + data)].pack("N")
  end
end
