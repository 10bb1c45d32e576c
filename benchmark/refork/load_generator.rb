# frozen_string_literal: true

require "socket"

# Requests the same pages at the same times from each server: a few parts of the application often,
# most of them seldom.
#
#   load_generator = LoadGenerator.new(models: 40, workers: 4)
#   pages = load_generator.pages                  # as many as there are workers
#   load_generator.visit("/tmp/a/socket", pages)  # all at once; returns how many were served
#
# Raises Program::Failed if a page isn't served.
module Skep
  module Benchmarks
    class Refork
      class LoadGenerator
        PATIENCE = 20.0 # seconds for a page
        ROWS = 40
        STEEP = 3 # half of the requests are for an eighth of the parts
        WAYS = [->(random) { "/#{random.rand(1..ROWS)}" }, ->(_) { "" },
                ->(random) { "/search?word=#{%w[amb cor del fen].sample(random:)}&" },
                ->(_) { "/data" }, ->(random) { "/#{random.rand(1..ROWS)}/buy" }].freeze
        TONGUES = ["", "", "in=de", "in=fr"].freeze
        private_constant :PATIENCE, :ROWS, :STEEP, :WAYS, :TONGUES

        def initialize(models:, workers:, random: Random.new(7))
          @models = models
          @workers = workers
          @random = random
        end

        def pages = Array.new(@workers) { page }

        def visit(path, pages)
          deadline = OS.now + PATIENCE
          come = pages.map { |page| ask(path, page) }
          come.each { |one| read(one, deadline) }.size
        rescue SystemCallError => e
          raise Program::Failed, "the application isn't there: #{e.message}"
        ensure
          come&.each(&:close)
        end

        private

        def page
          part = (@models * (@random.rand**STEEP)).floor
          path = "/part#{part}s#{WAYS.sample(random: @random).call(@random)}"
          "#{path}#{"?" unless path.include?("?")}#{TONGUES.sample(random: @random)}"
        end

        def ask(path, page)
          UNIXSocket.new(path).tap do |socket|
            socket.write("GET #{page} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n")
          end
        end

        def read(socket, deadline)
          text = +""
          while socket.wait_readable([deadline - OS.now, 0].max)
            text << socket.readpartial(65_536)
          end
          raise Program::Failed, "a page wasn't served within #{PATIENCE.round} s"
        rescue EOFError
          head = text.lines.first.to_s.strip
          raise Program::Failed, "not a page: #{head}" unless head.include?(" 200 ")
        end
      end
    end
  end
end
