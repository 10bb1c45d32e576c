# frozen_string_literal: true

module Skep
  module Work
    class Map
      # A map done by nodes, as the caller's thread sees it, which does nothing but hand out chunks,
      # hear reports and wait.
      #
      #   Crew.new(block, options, source, harvest).run    # => nil, or the Stop that ended it
      #
      # A node is forked when all there are have their hands full, and not before a quarter of the
      # time that the last fork took has passed since: work that is over sooner isn't worth another.
      # When run returns or raises, every node has ended and is reaped.
      class Crew
        # Seconds that a node may keep what an idle one could do.
        TAIL = 0.01
        private_constant :TAIL

        #: (Proc, Options, untyped source, Harvest) -> void
        def initialize(block, options, source, harvest)
          @block = block
          @options = options
          @source = source
          @harvest = harvest
          @again = []
          @losses = Losses.new
          @recruit_at = 0.0
        end

        #: () -> Stop?
        def run
          return unless @source.more?

          limit = [@options.nodes, @source.size].compact.min
          # Whoever interrupts us (Timeout, Thread#kill): what it has taken is given back.
          Thread.handle_interrupt(Object => :never) do
            @roster = Roster.new(limit, @options.threads)
          end
          step until over?
          calm = true
          @stop
        ensure
          @roster&.disband(calm:)
        end

        private

        #: () -> void
        def step
          hand_out unless @stop
          return recruit if recruit?

          heard = @roster.wait(patience) { |node, ended| hear(node, ended) }
          share_out if !heard && idlers_wait?
        end

        #: () -> Array[Node]
        def nodes = @roster.nodes

        #: () -> bool
        def over? = nodes.all?(&:idle?) && (@stop ? true : !more?)

        # May wait for the next item.
        #
        #: () -> bool
        def more? = !@again.empty? || @source.more?

        # Every node gets a chunk before any gets two.
        #
        #: () -> void
        def hand_out
          while (node = nodes.select { |each| room?(each) }.min_by { |each| each.chunks.size })
            chunk = @again.shift || fresh(node.pace) or return
            node.give(chunk, @source.pack(chunk))
            @roster.attend(node) if node.pending?
          end
        end

        # With items that take long, the last few go to who is ready first.
        #
        #: (Node) -> bool
        def room?(node)
          left = @source.left
          node.room?(!left.nil? && left >= @options.nodes * @options.threads * 2)
        end

        # Towards the end chunks become smaller, so that all nodes end at about the same time.
        #
        #: (Pace) -> Chunk?
        def fresh(pace)
          size = pace.size
          if (left = @source.left)
            share = left / (@options.nodes * @options.threads * 2)
            size = [size, [share, pace.least].max].min
          end
          @source.take(size)&.tap { |chunk| @harvest.begin(chunk) }
        end

        #: () -> bool
        def wanting? = !@stop && !@roster.full? && nodes.none? { |node| room?(node) }

        #: () -> bool
        def recruit? = wanting? && (nodes.empty? || OS.now >= @recruit_at) && more?

        #: () -> void
        def recruit
          began = OS.now
          parent = Skep.pid
          @roster.recruit do |slot, claims, socket|
            Child.new(@block, @options, @source, claims:, slot:).live(socket, parent:)
          end
          @recruit_at = OS.now + ((OS.now - began) / 4)
        end

        # Seconds until there is something to do even if nobody reports.
        #
        #: () -> Float?
        def patience
          return TAIL if idlers_wait?

          [@recruit_at - OS.now, 0].max if wanting? && !(@source.dry? && @again.empty?)
        end

        # Is one idle, or still to be had, while another has more than it works on, and there is
        # nothing else to take?
        #
        #: () -> bool
        def idlers_wait?
          return false if @stop || !OS::SharedPage.native? || !(@source.dry? && @again.empty?)

          (!@roster.full? || nodes.any?(&:idle?)) && nodes.any?(&:laden?)
        end

        #: () -> void
        def share_out = nodes.each { |node| @again.concat(node.cut) if node.laden? }

        #: (Node, bool ended) -> void
        def hear(node, ended)
          open = node.receive { |*report| heard(node, *report) }
          if ended || (!open && node.pidfd.nil?)
            lost(node)
          elsif !open
            @roster.forsake(node)
          end
        end

        #: (Node, Integer lane, Integer done, Integer kind, Integer nanoseconds, String?) -> void
        def heard(node, lane, done, kind, nanoseconds, cargo)
          return if kind == Frame::HELLO

          chunk = node.finished(lane)
          node.pace.learn(done, seconds: nanoseconds / 1e9, bytes: cargo ? cargo.bytesize : 0)
          return ended(chunk, done, kind, cargo) unless kind == Frame::RESULTS

          reap(chunk, done, cargo)
        end

        #: (Chunk, Integer done, String? cargo) -> void
        def reap(chunk, done, cargo)
          @harvest.take(chunk, done, cargo && Cargo.load_results(cargo, chunk))
        end

        # By an exception, or by Stop: others finish what they are at.
        #
        #: (Chunk, Integer done, Integer kind, String cargo) -> void
        def ended(chunk, done, kind, cargo)
          results, what, index = Cargo.load(cargo)
          reap(chunk, done, results)
          raise AtItem.mark(error(what), chunk.item(index), index) if kind == Frame::RAISED

          @stop ||= Stop.new(what)
          nodes.each(&:cut)
        end

        # A node's main thread has the caller's frames below its own, its other threads don't.
        #
        #: (Array[Array[untyped]]) -> Exception
        def error(ordeal)
          error = Ordeal.unpack(ordeal)
          return error if @options.threads == 1 || error.frozen?

          error.tap { error.set_backtrace([*error.backtrace, *caller]) }
        end

        # What it had in hand is done again, elsewhere.
        #
        #: (Node) -> void
        def lost(node)
          exit = @roster.bury(node)
          @again.concat(@losses.count(node, exit)) unless @stop
        end
      end
      private_constant :Crew
    end
  end
end
