# frozen_string_literal: true

require "fileutils"

# Images for examples/try, each with a different pattern.
module Sample
  TOPICS = { "images" => 8, "images.dead" => 1 }.freeze
  TOPIC = "images"
  IMAGES = 120
  WIDTH = 384
  HEIGHT = 288

  class << self
    def environment(folder)
      @folder = folder
      FileUtils.mkdir_p(thumbnails)
      { "THUMBNAILS" => thumbnails }
    end

    def messages = Array.new(IMAGES) { |number| [number.to_s, image(number)] }

    def result(*)
      made = Dir["#{thumbnails}/*.png"].map { |path| File.mtime(path) }.sort
      return ["no thumbnail was made"] if made.size < 2

      rate = (made.size - 1) / (made.last - made.first)
      [format("%d thumbnails, %.1f a second", made.size, rate)]
    end

    private

    def thumbnails = "#{@folder}/thumbnails"

    def image(number)
      row = Array.new(WIDTH) { |x| [x + number, x * number, number * 2].map { |part| part % 256 } }
      bytes = row.flatten.pack("C*")
      rows = Array.new(HEIGHT) { |y| bytes.byteslice(y * 3..) + bytes.byteslice(0, y * 3) }
      path = "#{@folder}/#{number}.ppm"
      File.binwrite(path, "P6\n#{WIDTH} #{HEIGHT}\n255\n#{rows.join}")
      path
    end
  end
end
