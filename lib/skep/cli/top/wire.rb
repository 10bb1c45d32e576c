# frozen_string_literal: true

# What comes from the swarm, and goes to it, without ever waiting.
#
#   wire = Wire.new(path, loop, wishes)   # told: status(status, pids), news(events), trouble(why)
#   wire.begin
#   wire.tell("scale", nodes: 4) { |answer| … }
#   wire.close
#
# It asks for the status once a second, and half a second after the last time where something has
# happened; a swarm that has gone is asked for until it is there again.
module Skep
  module CLI
    class Top < Command
      class Wire
        EVERY = 1.0
        SOON = 0.5
        REFUSED = 5.0 # until it asks again to be told of events
        private_constant :EVERY, :SOON, :REFUSED

        def initialize(path, loop, listener) #: (String, OS::EventLoop, untyped) -> void
          @path = path
          @loop = loop
          @listener = listener
          @watches = {}.compare_by_identity
          @follow_at = 0.0
        end

        def begin #: () -> void
          follow
          @asked_at = OS.now
          @next = @loop.after(EVERY) { look }
        end

        def tell(command, **facts, &told) #: (String, **untyped) { (Hash) -> void } -> void
          question = Watch::Question.new(@path, command, **facts)
          watch(question) { finish(question, told) }
        rescue Watch::Query::Failed => e
          told.call({ "error" => gone(e) })
        end

        def close #: () -> void
          @next&.cancel
          @watches.keys.each { |source| forget(source) }
        end

        private

        # Once a second, whether the last look has had its answer or not.
        def look
          @next = @loop.after(EVERY) { look }
          return late if @asking

          @asked_at = OS.now
          @asking = true
          tell("status") { |answer| looked(answer) }
        end

        def late
          seconds = (OS.now - @asked_at).round
          @listener.trouble("the swarm hasn't answered for #{seconds} s: " \
                            "its supervisor is stopped, or has no time")
        end

        def looked(answer)
          @asking = false
          return @listener.trouble(answer["error"] || "the swarm tells no status") unless
            answer["status"]


          status = answer["status"]
          @listener.status(status, !@peer.nil? && Watch::Connection.here?(@peer, status["pid"]))
          follow unless @feed || OS.now < @follow_at
        end

        def soon
          return if @asking || @next.deadline <= @asked_at + SOON

          @next.cancel
          @next = @loop.at(@asked_at + SOON) { look }
        end

        def follow
          @feed = Watch::Query.new(@path).follow_soon
          watch(@feed) { heard }
        rescue Watch::Query::Failed # the next look tells why
          @feed = nil
        end

        def heard
          events = @feed.take
          @listener.news(events) if events.any?
          soon if events.any?
          lose_feed if @feed.ended? || @feed.error
        rescue Watch::Answer::Foreign, SystemCallError # what it sends makes no sense
          lose_feed
        end

        # It comes back with the next look, unless it was told not to.
        def lose_feed
          @listener.told("events aren't shown: #{@feed.error}") if @feed.error
          @follow_at = OS.now + (@feed.error ? REFUSED : 0)
          forget(@feed)
          @feed = nil
        end

        def finish(question, told)
          answer = question.take or return
          @peer = question.pid
          forget(question)
          told.call(answer)
        rescue Watch::Query::Failed => e
          forget(question)
          told.call({ "error" => gone(e) })
        end

        def gone(failed) = "the swarm doesn't answer (#{failed.error})"

        def watch(source, &block) = @watches[source] = @loop.watch(source.to_io, &block)

        def forget(source)
          @watches.delete(source).cancel
          source.close
        end
      end
      private_constant :Wire
    end
  end
end
