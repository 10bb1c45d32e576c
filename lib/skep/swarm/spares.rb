# frozen_string_literal: true

# The supervisor's side of spares: which seats they may claim, and what becomes of one that has.
#
#   spares = Spares.new(config, manager, loop:, page:, cells:)
#   spares.reserves                # a seat for each spare
#   spares.consider(seat)          # its node is ready: may a spare step in should it die?
#   spares.offer(seat)             # nobody holds it, and somebody may at once: one of us? => bool
#   spares.step_in(heir, seat)     # the dead one is written down: its heir has the seat
#
# | what happens | who decides |
# |---|---|
# | a node dies that may be followed at once whatever its status | a spare, by its claim |
# | a node dies whose status must be known, or at its boot | we, when that is known: by an offer |
# | a seat is over its limit, or its node is ended by us | we: its claim is shut before |
#
# A claim counts from the instant it is made; the seat is the spare's in our books when its
# predecessor's end is known. What the spare says before that is kept until then.
module Skep
  class Swarm
    class Spares
      # How long spares may take to answer an offer before somebody is forked.
      OFFER_SECONDS = 0.25
      NEWS = 10_000 # messages that are kept until a spare's predecessor has ended
      private_constant :OFFER_SECONDS, :NEWS

      attr_reader :reserves #: Array[Reserve]

      def initialize(config, manager, loop:, page:, cells:)
        @config = config
        @manager = manager
        @loop = loop
        @cells = cells
        @locks = OS::Locks.new(page) if config.spares.positive? && OS::Locks.supported?
        @policy = RestartPolicy.new(config)
        @reserves = Array.new(config.spares) { |number| Reserve.new(number) { manager.seats } }
      end

      # Who writes down births and ends.
      def serve(registrar, hearing, tell) #: (Registrar, Hearing, Proc) -> void
        @registrar = registrar
        @hearing = hearing
        @tell = tell
      end

      # fresh: nobody has held the seat yet.
      def claim(id, fresh: true) #: (Integer, ?fresh: bool) -> (Claim | Claim::None)
        @locks ? Claim.new(@locks, @cells.of(id), @manager.roster, fresh:) : Claim::NONE
      end

      # Seats have come or gone.
      def retell = @reserves.each(&:tell_seats) #: () -> void

      # What a node says, if it is for us. False: it is for others.
      def hear(node, frame) #: (Node, Channel::Frame) -> bool
        return defer(node, frame) if node.news
        return false unless node.was_spare? || frame.type == "seated"

        case frame.type
        when "spare" then @registrar.spare_ready(node) if node.seat.spare?
        when "seated" then consider(node.seat)
        when "stepped_in" then stepped_in(node, frame)
        else return false
        end
        true
      end

      def consider(seat) #: (Seat) -> void
        return unless seat.claim.possible? && fit?(seat)
        return seat.claim.open if @policy.at_once?(seat.deaths.times, OS.now)

        node = seat.node
        node.watches << @loop.after(@config.restarts_within) { consider(seat) if seat.node == node }
      end

      def offer(seat) #: (Seat) -> bool
        spare = @reserves.filter_map(&:spare).find { |node| !node.news } or return false

        seat.claim.open
        spare.channel.send("step_in", { "node" => seat.id, "task" => seat.task })
        return step_in(spare, seat) || true unless seat.claim.possible?

        await(seat, OS.now + OFFER_SECONDS)
        true
      end

      # If nobody has claimed it by then somebody is forked for it.
      def await(seat, deadline) #: (Seat, Float) -> void
        seat.wait
        seat.wait_timer = @loop.at(deadline) { answered(seat) }
      end

      def step_in(node, seat) #: (Node, Seat) -> void
        seat.wait_timer&.cancel
        seat.claim.given
        reserve = node.seat
        sit(node, seat)
        expect_readiness(node)
        arrive(node) if node.stepped_in
        refill(reserve, reserve.vacate(node))
        @registrar.retire(node, "scale") unless @manager.seats.include?(seat)
        seat.settled
      end

      # A node has ended: what it had claimed is nobody's, and counts as its death there.
      def lose(node) #: (Node) -> void
        return unless node.seat.spare?

        @manager.seats.each do |seat|
          seat.died("boot", OS.now, @config.restarts_within) if seat.claim.lose(node)
        end
        publish(node)
      end

      private

      # Is it certain that an end of its, of whatever kind, is to be followed at once?
      def fit?(seat)
        node = seat.node
        node&.ready? && node.reason.nil? && seat.successor.nil? && !@manager.stopping? &&
          @manager.seats.include?(seat) && !@registrar.replacements.of(seat) &&
          @config.restart == :always && !@config.restart_never_status && seat.claim.held_by?(node)
      end

      def stepped_in(node, frame)
        node.stepped_in = frame["seconds"]
        return arrive(node) if node.id == frame["node"]

        seat = @manager.seats.find { |one| one.id == frame["node"] }
        return node.kill("no_seat") unless seat&.claim&.shut.equal?(node)

        node.news = []
        step_in(node, seat) unless seat.node # whose end we have yet to hear of
      end

      def defer(node, frame)
        node.news << frame
        return true if node.news.size <= NEWS

        sentence = "more than #{NEWS} messages of a spare whose predecessor hasn't ended yet"
        @hearing.garbled(node, Messages::Invalid.new(sentence))
        true
      end

      def sit(node, seat)
        node.sit(seat, OS.now)
        seat.take(node)
        @registrar.suspicions.inform(node)
      end

      def expect_readiness(node)
        return unless node.state == :booting

        node.boot_timer = @loop.after(@config.boot_timeout) { node.kill("boot_timeout") }
      end

      def answered(seat)
        heir = seat.claim.shut
        heir ? step_in(heir, seat) : @registrar.boots.enqueue(seat)
      end

      def arrive(node)
        @registrar.recoveries.ready(node, OS.now, took: node.stepped_in)
        @tell.call(:spare_stepped_in, node, seconds: node.stepped_in)
        publish(node)
      end

      def publish(node)
        news, node.news = node.news, nil
        news&.each { |frame| @hearing.hear(node, frame) }
      end

      def refill(reserve, standing)
        return if @manager.stopping?

        standing == :held ? @registrar.replacements.promoted(reserve)
                          : @registrar.boots.enqueue(reserve)
      end
    end
  end
end
