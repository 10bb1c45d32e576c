# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Collects the results of a map: puts them in order, calls the hooks, moves the progress bar.
      #
      #   collector = ResultCollector.new(options, source)
      #   collector.started(chunk)                  # the chunk is sent for the first time
      #   collector.completed(chunk, done, results) # that many of its first items are done
      #   collector.finish                          # => all results
      class ResultCollector
        def initialize(options, source)
          @options = options
          @results = []
          @bar = ProgressBar.for(options.progress, source.size)
          @early = {}
          @expected = 0
        end

        def started(chunk)
          return unless (start = @options.start)

          chunk.items.each_with_index { |item, offset| start.call(item, chunk.from + offset) }
        end

        def completed(chunk, done, results)
          return if done.zero?

          keep(chunk.from, done, results) if @options.keep_results?
          call_finish(chunk, done, results) if @options.finish
          @bar&.advance(done)
        end

        def finish
          @bar&.finish
          @results
        end

        def close = @bar&.close

        private

        def keep(from, done, results)
          @options.ordered? ? @results[from, done] = results : @results.concat(results)
        end

        def call_finish(chunk, done, results)
          done.times do |offset|
            arguments = [chunk.items[offset], chunk.from + offset, results[offset]]
            @options.finish_in_order? ? call_in_order(arguments) : @options.finish.call(*arguments)
          end
        end

        def call_in_order(arguments)
          @early[arguments[1]] = arguments
          while (due = @early.delete(@expected))
            @expected += 1
            @options.finish.call(*due)
          end
        end

        # Shows the progress of a map on the last line of a terminal:
        #
        #   Progress  42% |=========>             | 420/1000  00:12 left
        #
        # If the number of items is unknown, it shows how many are done. It writes only to a
        # terminal.
        class ProgressBar
          INTERVAL = 0.1
          WIDTH = 30
          private_constant :INTERVAL, :WIDTH

          # Returns nil if no bar is wanted or the output is no terminal. `option` is true, a title,
          # or a Hash with title and output.
          def self.for(option, total)
            return unless option

            option = { title: option } unless option.is_a?(Hash) || option == true
            title, out = option.values_at(:title, :output) if option.is_a?(Hash)
            out ||= $stderr
            new(title || "Progress", total, out) if terminal?(out)
          end

          def self.terminal?(out)
            out.respond_to?(:tty?) && out.tty?
          rescue IOError
            false # It is closed.
          end
          private_class_method :terminal?

          def initialize(title, total, out)
            @title = title
            @total = total
            @out = out
            @began = OS.now
            @next = 0.0
            @done = 0
          end

          def advance(count)
            @done += count
            draw(OS.now) if OS.now >= @next
          end

          def finish = draw(OS.now)

          # Keeps the line and begins another.
          def close = @out.write("\n")

          # Returns the line as of that time.
          def line(now)
            elapsed = now - @began
            return "#{@title} #{@done}  #{clock(elapsed)}" unless @total&.positive?

            share = @done.fdiv(@total)
            filled = "#{"=" * (share * WIDTH)}>"[0, WIDTH].ljust(WIDTH)
            format("%s %3d%% |%s| %d/%d  %s", @title, share * 100, filled, @done, @total,
                   time_left(elapsed, share))
          end

          private

          def time_left(elapsed, share)
            return "#{clock(elapsed)} in all" if share >= 1
            return "" if share.zero?

            "#{clock((elapsed / share) - elapsed)} left"
          end

          def clock(seconds)
            minutes, seconds = seconds.round.divmod(60)
            hours, minutes = minutes.divmod(60)
            parts = hours.positive? ? [hours, minutes, seconds] : [minutes, seconds]
            parts.map { |part| format("%02d", part) }.join(":")
          end

          def draw(now)
            @next = now + INTERVAL
            @out.write("\r#{line(now)}\e[K")
          end
        end
      end
      private_constant :ResultCollector
    end
  end
end
