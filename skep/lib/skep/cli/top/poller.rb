# frozen_string_literal: true

# Fetches a swarm's status and events, and sends it commands. Never waits.
#
#   poller = Poller.new(path, loop, listener)
#   poller.start
#   poller.send_command("scale", nodes: 4) { |answer| … }
#   poller.close
#
# It calls the listener's status_changed, past_arrived, events_arrived, failed and notice (see App).
# It asks for the status once a second, and half a second after the last time if there were events;
# less often if answers take long (Control::PollLimit). If the swarm has ended it asks on, until the
# swarm is back.
module Skep
  module CLI
    module Top
      class Poller
        INTERVAL = 1.0
        EVENT_INTERVAL = 0.5
        RETRY_AFTER_REFUSAL = 5.0 # seconds until it asks for events again
        private_constant :INTERVAL, :EVENT_INTERVAL, :RETRY_AFTER_REFUSAL

        def initialize(path, loop, listener)
          @client = Control::Client.new(path)
          @loop = loop
          @listener = listener
          @watches = {}.compare_by_identity
          @follow_at = 0.0
          @limit = Control::PollLimit.new
        end

        def start
          follow
          @polled_at = OS.now
          @timer = @loop.after(INTERVAL) { poll }
        end

        # The block is called with the answer, or with {"error" => …}.
        def send_command(command, **facts, &answered)
          request = @client.call_async(command, **facts)
          watch(request) { read_answer(request, answered) }
        rescue Control::Unreachable => e
          answered.call({ "error" => sentence(e) })
        end

        def close
          @timer&.cancel
          @watches.keys.each { |source| drop(source) }
        end

        private

        # Once a second, whether the last poll was answered or not.
        def poll
          @timer = @loop.after(INTERVAL) { poll }
          return report_silence if @polling

          @polled_at = OS.now
          @polling = true
          send_command("status") { |answer| polled(answer) }
        end

        def report_silence
          seconds = (OS.now - @polled_at).round
          @listener.failed("the swarm hasn't answered for #{seconds} s: " \
                           "its supervisor is stopped, or has no time")
        end

        def polled(answer)
          @polling = false
          status = answer["status"]
          return @listener.failed(answer["error"] || "the swarm sends no status") unless status

          @limit.answered(@polled_at, OS.now)
          poll_at(@limit.at(@timer.deadline))
          local = !@peer.nil? && Control::Connection.local?(@peer, status["pid"])
          @listener.status_changed(status, local)
          follow unless @events || OS.now < @follow_at
        end

        def poll_soon
          at = @limit.at(@polled_at + EVENT_INTERVAL)
          poll_at(at) unless @polling || @timer.deadline <= at
        end

        def poll_at(time)
          @timer.cancel
          @timer = @loop.at(time) { poll }
        end

        def follow
          @events = @client.history_async(after: @position)
          watch(@events) { read_events }
        rescue Control::Unreachable # the next poll reports why
          @events = nil
        end

        def read_events
          events = @events.read
          past = @events.take_past
          @listener.past_arrived(past) if past&.any?
          if events.any?
            @listener.events_arrived(events)
            poll_soon
          end
          stop_following if @events.ended? || @events.error
        rescue Control::InvalidAnswer, SystemCallError # what arrives isn't a swarm's
          stop_following
        end

        # The next poll follows again; after a refusal a later one.
        def stop_following
          error = @events.error
          @position = @events.position
          drop(@events)
          @events = nil
          return ended unless error

          @listener.notice("events aren't shown: #{error}")
          @follow_at = OS.now + RETRY_AFTER_REFUSAL
        end

        def ended
          @limit.reset
          poll_soon
        end

        def read_answer(request, answered)
          answer = request.read or return
          @peer = request.peer
          drop(request)
          answered.call(answer)
        rescue Control::Unreachable => e
          drop(request)
          answered.call({ "error" => sentence(e) })
        end

        def sentence(unreachable) = "the swarm doesn't answer (#{unreachable.error})"

        def watch(source, &block) = @watches[source] = @loop.watch(source.to_io, &block)

        def drop(source)
          @watches.delete(source).cancel
          source.close
        end
      end
    end
  end
end
