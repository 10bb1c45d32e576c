# frozen_string_literal: true

module Skep
  module CLI
    module UI
      # The problems of a status as text, the most urgent first, and their colours. An older
      # supervisor reports none.
      #
      #   lines = ProblemLines.new(status)
      #   lines.each(most: 10) { |line, remedy, color| … }
      #   lines.each(most: 3, place_first: true) { … }   # where the end of a line may be cut:
      #   # "node 3, app.rb:12: it keeps crashing: 7 deaths, the last by SIGSEGV, for 12s"
      #   # line: "node 3: it keeps crashing: 7 deaths, the last by SIGSEGV, for 12s, at app.rb:12"
      #   # remedy: "skep starts it again in 4 s. Fix the cause, then skep reload"
      #   lines.left_out(10)   # => 3: how many are not among the first ten
      #   lines.color          # => :red, of the most urgent one; nil: nothing is wrong but what
      #                        # someone has asked for
      class ProblemLines
        COLORS = { "critical" => :red, "warning" => :yellow, "info" => :cyan }.freeze
        private_constant :COLORS

        def initialize(status)
          @problems = status["problems"].to_a
        end

        def each(most:, place_first: false)
          @problems.first(most).each do |one|
            remedy = UI.clean("#{one["doing"]}. #{one["advice"]}")
            yield place_first ? placed(one) : line(one), remedy, color_of(one)
          end
        end

        def left_out(most) = [@problems.size - most, 0].max

        def color
          first = @problems.first
          color_of(first) if first && first["level"] != "info"
        end

        # Returns true if one of them is of that level.
        def any?(level) = @problems.any? { |one| one["level"] == level }

        private

        def line(one)
          at = ", at #{one["at"]}" if one["at"]
          UI.clean("#{one["subject"]}: #{one["text"]}#{since(one)}#{at}")
        end

        def placed(one)
          place = one.values_at("subject", "at").compact.join(", ")
          UI.clean("#{place}: #{one["text"]}#{since(one)}")
        end

        def since(one) = (", for #{Humanize.duration(one["since"])}" if one["since"])

        def color_of(problem) = COLORS.fetch(problem["level"], :yellow)
      end
    end
  end
end
