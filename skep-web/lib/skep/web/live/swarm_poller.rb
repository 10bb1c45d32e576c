# frozen_string_literal: true

module Skep
  class Web
    module Live
      # One swarm, for all open pages. Begins with what the swarm has kept of its past, or with what
      # happened since the last page was closed. Follows its events, and polls its status at an
      # interval: soon after an event, and less often if answers take long (Control::PollLimit). If
      # the swarm is away, it reports that to the pages, and polls until the swarm is back.
      #
      #   poller = SwarmPoller.new("billing", path, 2.0) { |facts| … }   # what to send to pages
      #   poller.start(loop)
      #   poller.snapshot    # => what a new page gets first
      #   poller.stop        # keeps what is known
      class SwarmPoller
        SOON = 0.3
        TIMEOUT = 10.0
        private_constant :SOON, :TIMEOUT

        attr_reader :events # EventBuffer

        def initialize(name, path, interval, &report)
          @name = name
          @client = Control::Client.new(path)
          @interval = interval
          @report = report
          @view = { "away" => "the page is looking for it" }
          @series = TimeSeries.new
          @sampler = Control::ProcessSampler.new
          @events = EventBuffer.new
          @limit = Control::PollLimit.new
        end

        def start(loop)
          @loop = loop
          poll
        end

        def stop
          end_call
          end_stream
          @timer&.cancel
          @timer = nil
        end

        def snapshot
          { swarm: @name, is: @view, series: @series.to_h(OS.now), events: @events.to_a }
        end

        private

        def poll
          @polled_at = OS.now
          follow
          @call = @client.call_async("status")
          @watch = @loop.watch(@call) { receive_status }
          @timeout = @loop.after(TIMEOUT) { away("it doesn't answer") }
          @timer&.cancel
        rescue Control::Unreachable
          away("no such swarm is running")
        end

        def follow
          return if @stream

          @stream = @client.history_async(after: @position, series: true)
          @stream_watch = @loop.watch(@stream) { receive_events }
        end

        def receive_status
          answer = @call.read or return
          peer = @call.peer
          end_call
          answer["status"] ? show(answer["status"], peer) : away("it doesn't answer")
        rescue Control::Unreachable
          away("it doesn't answer")
        end

        def receive_events
          live = @stream.read
          show_past
          live.each do |event|
            facts = { event: @events.add(event), mark: @series.mark(event) }
            @report.call({ swarm: @name, **facts.compact })
            poll_within(SOON)
          end
          stream_ended if @stream.ended?
        rescue SystemCallError, Control::InvalidAnswer
          stream_ended
        end

        # Once for all of its events: a page gets all events and charts again. The view, which may
        # have megabytes, hasn't changed.
        def show_past
          past = @stream.take_past or return
          past.each do |event|
            @events.add(event)
            @series.mark(event)
          end
          @series.fill(@stream.series) if @stream.series
          @report.call(snapshot.except(:is)) if past.any? || @stream.series
        end

        # Where the swarm has too many followers, the next poll tries again; else it has ended.
        def stream_ended
          refused = @stream.error
          end_stream
          return if refused

          @limit.reset
          poll_within(SOON)
        end

        def show(status, peer)
          now = OS.now
          pids = Control::Connection.local?(peer, status["pid"])
          presenter = SwarmPresenter.new(status, @sampler.sample(status, now, pids:))
          report_changes(presenter.to_h)
          point = @series.add(presenter.numbers, now)
          @report.call({ swarm: @name, point: }) if point
          @limit.answered(@polled_at, now)
          poll_within(@interval)
        end

        # The first status is the whole state, and not a change of it: see SseConnection.
        def report_changes(view)
          before, @view = @view, view
          first = view.key?("nodes") && !before.key?("nodes")
          return @report.call(snapshot) if first

          changes = JsonMergePatch.between(before, view)
          @report.call({ swarm: @name, changes: }) if changes.any?
        end

        def away(reason)
          end_call
          report_changes({ **@view, "away" => reason })
          poll_within(@interval)
        end

        def poll_within(seconds)
          at = @limit.at(OS.now + seconds)
          return if @call || (@timer&.pending? && @timer.deadline <= at)

          @timer&.cancel
          @timer = @loop.at(at) { poll }
        end

        def end_call
          [@watch, @timeout].compact.each(&:cancel)
          @call&.close
          @call = @watch = @timeout = nil
        end

        def end_stream
          @stream_watch&.cancel
          @position = @stream.position if @stream
          @stream&.close
          @stream = @stream_watch = nil
        end
      end
    end
  end
end
