# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # One swarm as open pages see it: its status is asked every so many seconds, soon after
      # an event, and less often where the answer is dear; its events are followed. Where it is
      # gone that is said, and it is looked for until it is there again.
      #
      #   sight = Sight.new("billing", path, 2.0) { |news| … }   # what pages are to be told
      #   sight.begin(loop)
      #   sight.all          # => what a page is told first
      #   sight.rest         # nobody looks; what is known is kept
      class Sight
        SOON = 0.3
        PRICE = 20 # its supervisor is ours for that part of its time at most
        private_constant :SOON, :PRICE

        attr_reader :news #: News

        #: (String, String, Numeric) { (Hash) -> void } -> void
        def initialize(name, path, every, &tell)
          @name = name
          @path = path
          @every = every
          @tell = tell
          @view = { "away" => "it is being looked for" }
          @series = Series.new
          @pace = Pace.new
          @processor = Processor.new
          @news = News.new
        end

        def begin(loop) #: (OS::EventLoop) -> void
          @loop = loop
          ask
        end

        def rest #: () -> void
          [@feed, @question].compact.each(&:close)
          @timer&.cancel
          @feed = @question = @timer = nil
        end

        def all #: () -> Hash[Symbol, untyped]
          { swarm: @name, is: @view, series: @series.to_h(OS.now), events: @news.to_a }
        end

        private

        def ask
          @asked_at = OS.now
          follow
          @question = Wire.new(@loop, @path, "status") { |answer| answer(answer) }
          @timer&.cancel
        rescue SystemCallError, ArgumentError
          away("no such swarm is running")
        end

        def follow
          @feed ||= Wire.new(@loop, @path, "follow", seconds: nil) { |event| hear(event) }
        end

        def hear(event)
          return followed_to_the_end if event.nil?
          return @alone = true if event["error"] # it lets nobody else follow
          return unless event["event"]

          @tell.call({ swarm: @name, event: @news.add(event) })
          ask_within(SOON)
        end

        # Where nobody else may follow its status is all there is, and tells it late.
        def followed_to_the_end
          @feed = nil
          @alone ? @alone = false : ask_within(SOON)
        end

        def answer(answer)
          return if @question.nil? # it was told, and this is the end of the line

          @peer = @question.peer
          @question.close
          @question = nil
          answer&.key?("status") ? see(answer["status"]) : away("it doesn't answer")
        end

        def see(status)
          now = OS.now
          view = View.new(status, @pace, now, cpu: cpu(status, now))
          show(view.to_h)
          point = @series.add(view.numbers, now)
          @tell.call({ swarm: @name, point: }) if point
          ask_within([@every, (now - @asked_at) * PRICE].max)
        end

        # In another container pids are others'.
        def cpu(status, now)
          return {} unless @peer && Connection.here?(@peer, status["pid"])

          @processor.of(status["nodes"].to_h { |node| [node["id"].to_s, node["pid"]] }, now)
        end

        def show(view)
          changes = Patch.between(@view, view)
          @view = view
          @tell.call({ swarm: @name, changes: }) if changes.any?
        end

        def away(why)
          show({ **@view, "away" => why })
          ask_within(@every)
        end

        def ask_within(seconds)
          return if @question || (@timer&.pending? && @timer.deadline <= OS.now + seconds)

          @timer&.cancel
          @timer = @loop.after(seconds) { ask }
        end
      end
      private_constant :Sight
    end
  end
end
