# frozen_string_literal: true

require "socket"

# Visitors of the application: the same pages at the same times for whoever keeps it, a few of its
# parts often and most of them now and then.
#
#   visitors = Visitors.new(models: 40, workers: 4)
#   pages = visitors.pages                  # as many as there are workers
#   visitors.visit("/tmp/a/socket", pages)  # asks for all of them at once; how many were served
#
# A page that isn't served raises Program::Failed.
module Skep
  module CLI
    class Bench
      class Refork
        class Visitors
          PATIENCE = 20.0 # seconds for a page
          ROWS = 40
          STEEP = 3 # half of the requests are for an eighth of the parts
          WAYS = [->(random) { "/#{random.rand(1..ROWS)}" }, ->(_) { "" },
                  ->(random) { "/search?word=#{%w[amb cor del fen].sample(random:)}&" },
                  ->(_) { "/data" }, ->(random) { "/#{random.rand(1..ROWS)}/buy" }].freeze
          TONGUES = ["", "", "in=de", "in=fr"].freeze
          private_constant :PATIENCE, :ROWS, :STEEP, :WAYS, :TONGUES

          #: (models: Integer, workers: Integer, ?random: Random) -> void
          def initialize(models:, workers:, random: Random.new(7))
            @models = models
            @workers = workers
            @random = random
          end

          def pages = Array.new(@workers) { page } #: () -> Array[String]

          def visit(path, pages) #: (String, Array[String]) -> Integer
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
end
