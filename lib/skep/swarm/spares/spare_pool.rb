# frozen_string_literal: true

# The supervisor's side of spares: which slots they may claim, and what becomes of one that has.
#
#   spares = SparePool.new(config, node_pool, loop:, page:, layout:)
#   spares.spare_slots               # a slot for each spare
#   spares.consider(slot)            # its node is ready: may a spare step in should it die?
#   spares.offer(slot)               # nobody holds it, and somebody may at once: one of us? => bool
#   spares.step_in(claimant, slot)   # the dead one is recorded: its claimant has the slot
#
# | what happens | who decides |
# |---|---|
# | a node dies that may be followed at once whatever its status | a spare, by its claim |
# | a node dies whose status must be known, or at its boot | we, when that is known: by an offer |
# | a slot is over its limit, or its node is ended by us | we: its claim is shut before |
#
# A claim counts from the instant it is made; the slot is the spare's in our books when its
# predecessor's end is known. What the spare says before that is kept until then.
module Skep
  class Swarm
    module Spares
      class SparePool
        # How long spares may take to answer an offer before somebody is forked.
        OFFER_SECONDS = 0.25
        NEWS = 10_000 # messages that are kept until a spare's predecessor has ended
        private_constant :OFFER_SECONDS, :NEWS

        attr_reader :spare_slots #: Array[SpareSlot]

        def initialize(config, node_pool, loop:, page:, layout:)
          @config = config
          @node_pool = node_pool
          @loop = loop
          @layout = layout
          @locks = OS::RobustLocks.new(page) if config.spares.positive? && OS::RobustLocks.supported?
          @policy = Health::RestartPolicy.new(config)
          @spare_slots = Array.new(config.spares) do |number|
            SpareSlot.new(number) { node_pool.slots }
          end
        end

        # Who writes down births and ends.
        #: (Nodes::NodeRegistry, Nodes::NodeMessages, Runtime::EventBus) -> void
        def serve(node_registry, node_messages, events)
          @node_registry = node_registry
          @node_messages = node_messages
          @events = events
        end

        # fresh: nobody has held the slot yet.
        #: (Integer, ?fresh: bool) -> (Nodes::SlotClaim | Nodes::SlotClaim::None)
        def claim(id, fresh: true)
          return Nodes::SlotClaim::NONE unless @locks

          Nodes::SlotClaim.new(@locks, @layout.of(id), @node_pool.node_table, fresh:)
        end

        # Slots have come or gone.
        def retell = @spare_slots.each(&:tell_slots) #: () -> void

        # What a node says, if it is for us. False: it is for others.
        def hear(node, frame) #: (Nodes::NodeProcess, IPC::Channel::Message) -> bool
          return defer(node, frame) if node.news
          return false unless node.was_spare? || frame.type == "slot_taken"

          case frame.type
          when "spare" then @node_registry.spare_ready(node) if node.slot.spare?
          when "slot_taken" then consider(node.slot)
          when "stepped_in" then stepped_in(node, frame)
          else return false
          end
          true
        end

        def consider(slot) #: (Nodes::Slot) -> void
          return unless slot.claim.possible? && fit?(slot)
          return slot.claim.open if @policy.at_once?(slot.deaths.times, OS.now)

          node = slot.node
          node.watches << @loop.after(@config.restarts_within) do
            consider(slot) if slot.node == node
          end
        end

        def offer(slot) #: (Nodes::Slot) -> bool
          spare = @spare_slots.filter_map(&:spare).find { |node| !node.news } or return false

          slot.claim.open
          spare.channel.post("step_in", { "node" => slot.id, "task" => slot.task })
          return step_in(spare, slot) || true unless slot.claim.possible?

          await(slot, OS.now + OFFER_SECONDS)
          true
        end

        # If nobody has claimed it by then somebody is forked for it.
        def await(slot, deadline) #: (Nodes::Slot, Float) -> void
          slot.wait
          slot.wait_timer = @loop.at(deadline) { answered(slot) }
        end

        def step_in(node, slot) #: (Nodes::NodeProcess, Nodes::Slot) -> void
          slot.wait_timer&.cancel
          slot.claim.given
          spare_slot = node.slot
          sit(node, slot)
          expect_readiness(node)
          arrive(node) if node.stepped_in
          refill(spare_slot, spare_slot.vacate(node))
          @node_registry.retire(node, "scale") unless @node_pool.slots.include?(slot)
          slot.settled
        end

        # A node has ended: what it had claimed is nobody's, and counts as its death there.
        def lose(node) #: (Nodes::NodeProcess) -> void
          return unless node.slot.spare?

          @node_pool.slots.each do |slot|
            slot.died("boot", OS.now, @config.restarts_within) if slot.claim.lose(node)
          end
          publish(node)
        end

        private

        # Is it certain that an end of its, of whatever kind, is to be followed at once?
        def fit?(slot)
          node = slot.node
          node&.ready? && node.reason.nil? && slot.successor.nil? && !@node_pool.stopping? &&
            @node_pool.slots.include?(slot) && !@node_registry.replacements.of(slot) &&
            @config.restart == :always && !@config.restart_never_status && slot.claim.held_by?(node)
        end

        def stepped_in(node, frame)
          node.stepped_in = frame["seconds"]
          return arrive(node) if node.id == frame["node"]

          slot = @node_pool.slots.find { |one| one.id == frame["node"] }
          return node.kill("no_slot") unless slot&.claim&.shut.equal?(node)

          node.news = []
          step_in(node, slot) unless slot.node # whose end we have yet to hear of
        end

        def defer(node, frame)
          node.news << frame
          return true if node.news.size <= NEWS

          sentence = "more than #{NEWS} messages of a spare whose predecessor hasn't ended yet"
          @node_messages.protocol_error(node, IPC::Messages::Invalid.new(sentence))
          true
        end

        def sit(node, slot)
          node.assign(slot, OS.now)
          slot.take(node)
          @node_registry.crash_attribution.inform(node)
        end

        def expect_readiness(node)
          return unless node.state == :booting

          node.boot_timer = @loop.after(@config.boot_timeout) { node.kill("boot_timeout") }
        end

        def answered(slot)
          claimant = slot.claim.shut
          claimant ? step_in(claimant, slot) : @node_registry.boots.enqueue(slot)
        end

        def arrive(node)
          @node_registry.recovery_times.ready(node, OS.now, took: node.stepped_in)
          @events.publish(:spare_stepped_in, node, seconds: node.stepped_in)
          publish(node)
        end

        def publish(node)
          news, node.news = node.news, nil
          news&.each { |frame| @node_messages.hear(node, frame) }
        end

        def refill(spare_slot, standing)
          return if @node_pool.stopping?

          standing == :held ? @node_registry.replacements.promoted(spare_slot)
                            : @node_registry.boots.enqueue(spare_slot)
        end
      end
    end
  end
end
