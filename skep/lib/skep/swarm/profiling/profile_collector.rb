# frozen_string_literal: true

# Asks the nodes of a swarm for their profiles, and answers with those that come.
#
#   collector = ProfileCollector.new(loop:)
#   collector.start(nodes, 10) { |facts| … }   # => nil, or the sentence why not
#   collector.add(node, frame)                 # a node has sent its profile
#   collector.lost(node)                       # a node has ended
#
# The block gets { seconds:, nodes: [{ node:, work:, pid:, profile: }], missing: [{ node:, work:,
# pid:, why: }] } once no node is awaited, or GRACE seconds after the last could have answered. A
# profile is a String of JSON, which the supervisor doesn't read. All of them together have no more
# than BYTES. There is one profile at a time.
module Skep
  class Swarm
    module Profiling
      class ProfileCollector
        # A thread that never releases the GVL loses it every 100 ms, and the control thread needs
        # some turns to send what it has; on a machine with too few CPUs each takes seconds.
        GRACE = 10.0
        private_constant :GRACE

        Asked = Struct.new(:node, :facts, :profile, :why) do
          def open? = profile.nil? && why.nil?
        end
        private_constant :Asked

        def initialize(loop:)
          @loop = loop
        end

        def start(nodes, seconds, &answer)
          return busy if @asked

          @answer, @seconds, @until = answer, seconds, OS.now + seconds
          @bytes = [NODE_BYTES, BYTES / [nodes.size, 1].max].min
          @asked = nodes.map { |node| ask(node) }
          @timer = @loop.after(seconds + GRACE) { give_up }
          @loop.after(0) { look }
          nil
        end

        def add(node, frame)
          asked = awaited(node) or return
          profile, refused = frame["profile"], frame["refused"]
          if refused || profile.nil? then asked.why = refused || "it has sent nothing"
          elsif profile.bytesize > @bytes then asked.why = "its profile is too large"
          else asked.profile = profile
          end
          look
        end

        def lost(node)
          asked = awaited(node) or return
          asked.why = "it ended meanwhile"
          look
        end

        private

        def busy
          left = [(@until - OS.now).ceil, 1].max
          "another profile of this swarm is being taken: try again in #{left} s"
        end

        def ask(node)
          facts = { node: node.label, work: node.slot.work_name, pid: node.pid }
          return Asked.new(node, facts, nil, "it is #{node.state}") unless node.ready?

          node.channel.post("profile", { "seconds" => @seconds, "bytes" => @bytes })
          Asked.new(node, facts)
        end

        def awaited(node) = @asked&.find { |one| one.node == node && one.open? }

        def look
          finish if @asked && @asked.none?(&:open?)
        end

        def give_up
          @asked.select(&:open?).each do |one|
            one.why = "it didn't answer within #{GRACE.round} s: it hangs, or is stopped"
          end
          finish
        end

        def finish
          @timer.cancel
          asked, @asked = @asked, nil
          missing, nodes = asked.partition(&:why)
          @answer.call({ seconds: @seconds,
                         nodes: nodes.map { |one| { **one.facts, profile: one.profile } },
                         missing: missing.map { |one| { **one.facts, why: one.why } } })
        end
      end
    end
  end
end
