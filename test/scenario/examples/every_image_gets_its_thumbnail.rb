# frozen_string_literal: true

require_relative "scenario"
require "zlib"

# examples/thumbnails creates a complete thumbnail with the right colours for each image, while
# nodes are killed.
ExampleScenario.play do
  images, width, height = 60, 192, 144
  topics("images" => 8, "images.dead" => 1)
  colours = Array.new(images) { |number| [number, 255 - number, number * 4] }
  paths = colours.each_with_index.map do |colour, number|
    File.join(directory, "#{number}.ppm").tap do |path|
      File.binwrite(path, "P6\n#{width} #{height}\n255\n#{colour.pack("C*") * (width * height)}")
    end
  end
  made = File.join(directory, "thumbnails").tap { |path| Dir.mkdir(path) }
  done = -> { Dir["#{made}/*.png"].size }

  feed("images", paths.each_with_index.map { |path, number| [number.to_s, path, number % 8] })
  feed("images", [["none", "#{directory}/none.ppm", 0]])
  swarm = run_example("thumbnails", "THUMBNAILS" => made)
  kill_at(swarm, [1, 20]) { done.call }
  swarm.follow("all thumbnails are made") { done.call == images }
  swarm.await("dead_lettered")
  stop_well(swarm)

  wrong = colours.each_with_index.reject do |colour, number|
    png = File.binread("#{made}/#{number}.png")
    rows = Zlib.inflate(png[/IDAT(.*)....\0\0\0\0IEND/mn, 1])
    rows == ("\0".b + (colour.pack("C*") * 96)) * 72
  end
  must("create correct thumbnails, not #{wrong.first}") { wrong.empty? }
end
