# frozen_string_literal: true

# What can be changed while a swarm runs: its processes, its code, its size. One thing at a time, as
# a restart and a reload would undo each other.
#
#   changes = Changes.new(supervisor, foundry)
#   changes.restart { |why| … }      # nil: done; else a sentence that says why not
#   changes.restart(3) { |why| … }   # node 3 only
#   changes.reload { |why| … }
#   changes.scale(6)                 # => nil, or that sentence
module Skep
  class Swarm
    class Changes
      def initialize(supervisor, foundry) #: (Supervisor, Foundry) -> void
        @supervisor = supervisor
        @foundry = foundry
      end

      # Renews all nodes, one after the other, or the one with this id.
      def restart(id = :all, &done) #: (?untyped) ?{ (String?) -> void } -> void
        seats = manager.seats.select { |seat| seat.id.eql?(id) } unless id == :all || unready
        change("restart", done, seats && not_renewable(id, seats.first)) do |over|
          Rolling.new(manager, "restart", seats:) do |seat|
            over.call(seat && "node #{seat.label} could not be replaced; it works on")
          end.start
        end
      end

      # Loads the file again beside the old code, and lets all nodes roll over to it.
      def reload(&done) #: () ?{ (String?) -> void } -> void
        change("reload", done) do |over|
          manager.registrar.suspicions.forget
          Reload.new(@foundry, @supervisor, &over).start
        end
      end

      # Goes on as another program, this one's way of starting or the one that is named.
      #: (?[String, String]?) ?{ (String?) -> void } -> void
      def upgrade(program = nil, &done)
        program ||= [RbConfig.ruby, File.expand_path($PROGRAM_NAME)]
        change("upgrade", done, not_now(program)) do |over|
          @upgrade = Upgrade.new(@supervisor, @foundry, program) do |why|
            @upgrade = nil
            over.call(why)
          end
          @upgrade.start
        end
      end

      # Something has happened.
      def look = @upgrade&.look #: () -> void

      # The pid of an upgrade's trial.
      def trial = @upgrade&.pid #: () -> Integer?

      # Makes a mold of a node that has got warm, unless something else is under way; what failed
      # once isn't tried again with nodes of the same mold.
      def refork(node) #: (Node) -> void
        return if unready || (@under_way && !@upgrade) || node.mold != manager.mold || !node.ready?
        return if node.mold == @barren

        failed = ->(why) { @barren = node.mold if why }
        change("refork", failed) { |over| Refork.new(@foundry, @supervisor, &over).start(node) }
      end

      def scale(count) #: (untyped) -> String?
        why = unready and return why

        before = manager.seats.size
        why = Scaling.new(manager, @supervisor.config).to(count)
        @supervisor.emit(:swarm_scaled, :info, { from: before, to: manager.seats.size }) unless why
        why
      end

      private

      def manager = @supervisor.manager

      def unready
        "it isn't running" unless @supervisor.booted? && !@supervisor.stopping?
      end

      def not_renewable(id, seat)
        ids = manager.seats.map(&:id).first(20)
        return "there is no node #{id.inspect[0, 100]}, but #{ids.join(", ")}" unless seat

        "node #{id} has no process to be renewed: it is #{seat.state}" unless seat.live?
      end

      def not_now(program)
        unready || @supervisor.rooted || Upgrade.refusal(program) ||
          Obstacles.new(@supervisor, @foundry).first&.then { |what| "#{what}: try again" }
      end

      # Only an upgrade makes way: all else is what somebody counts on, be it by a signal.
      def under_way(name)
        @upgrade&.give_way(name)
        article = @under_way == "upgrade" ? "an" : "a"
        @under_way && "#{article} #{@under_way} is under way: wait for its end"
      end

      def change(name, done, refusal = nil, &work)
        why = unready || under_way(name) || refusal
        return refuse(name, why, done) if why

        @under_way = name
        @supervisor.emit(:"#{name}_begun", :info, {})
        began = OS.now
        work.call(->(failure) { over(name, failure, began, done) })
      end

      def refuse(name, why, done)
        @supervisor.emit(:"#{name}_refused", :warn, { message: why })
        done&.call(why)
      end

      def over(name, why, began, done)
        @under_way = nil
        seconds = (OS.now - began).round(3)
        @supervisor.emit(:"#{name}_done", :info, { seconds: }) unless why
        @supervisor.emit(:"#{name}_failed", :error, { message: why, seconds: }) if why
        done&.call(why)
      end
    end
  end
end
