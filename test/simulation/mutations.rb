# frozen_string_literal: true

require "English"
require "tmpdir"
require "support/patch"

# Bugs planted in the supervisor, each of which the simulation must find: a file of lib, a text and
# its replacement. The text must be in the file exactly once. A commit that changes such a line must
# adapt the mutation here.
module Simulation
  module Mutations
    SEEDS = 5_000
    STEP = 250

    def self.patch(file, from, to) = Patch.new("skep/swarm/#{file}.rb", from, to)

    # Swaps two lines.
    def self.swap(file, one, other) = patch(file, "#{one}\n#{other}", "#{other}\n#{one}")
    private_class_method :patch, :swap

    ALL = {
      "an exit is counted twice, as that of the next process" =>
        [patch("nodes/node_pool", "if node&.pid == pid", "if node")],
      "a death counts twice" =>
        [patch("nodes/restart_history", "times << now", "times.push(now, now)")],
      "a successor is forgotten after its mold's death" =>
        [patch("nodes/node_pool", "node_table.of(mold).each {",
               "node_table.of(mold).reject { |one| one == one.slot.successor }.each {")],
      "nodes are requested of a mold that has died" =>
        [patch("nodes/node_pool", "@budget.mold = nil if @budget.mold == mold", "nil")],
      "a removed slot still wants a process" =>
        [patch("nodes/slot", "finish\n@retired = true", "@retired = true")],
      "a deadline isn't shifted after a pause" =>
        [patch("health/liveness_policy", "def since(time) = [time, @back_at].max",
               "def since(time) = time")],
      "a kill is sent after the reap" =>
        [swap("nodes/node_exits", "node.pidfd.kill_leftover_group",
              "status = node.pidfd.wait(timeout: 0)")],
      "a mold's group is killed after the reap" =>
        [swap("molds/mold", "@pidfd.kill_leftover_group",
              "exit_status = IPC::ExitStatus.of(@pidfd.wait(timeout: 0))")],
      "a waiting boot is forgotten when another node is ready" =>
        [patch("nodes/node_pool",
               "reconcile(node.slot)\nuse_budget\nend\n\n# Passes",
               "reconcile(node.slot)\nend\n\n# Passes")],
      "a crash loop isn't slowed down" =>
        [patch("nodes/restart_policy", "excess.positive? ? backoff(excess - 1) : 0.0", "0.0")],
      "a successor takes over, and its replacement never ends" =>
        [patch("nodes/node_pool", "end_replacement(slot, succeeded: true) if slot.replaced?",
               "nil")],
      "a successor's death leaves its replacement in progress" =>
        [patch("nodes/node_pool",
               "end_replacement(slot, succeeded: false) unless left == :promoted && slot.wanted?",
               "nil")],
      "a slot is replaced without a limit at a time" =>
        [patch("nodes/budget", "< limit(kind)", "< 1_000")],
      "a slot doesn't wait for the end of its backoff" =>
        [patch("nodes/slot_policy",
               "return [:wait, slot.not_before] if slot.not_before && slot.not_before > now", "")],
      "a slot forgets when to look again" =>
        [patch("nodes/node_pool", "slot.timer = @loop.at(until_then) { reconcile(slot) }", "nil")],
      "a slot that waits for the budget is forgotten" =>
        [patch("nodes/waiting_slots", "@slots.fetch(kind)[slot] = true if kind", "")],
      "a process that is overdue isn't killed" =>
        [patch("nodes/slot_policy", "return [:kill, overdue] if overdue", "")],
      "a slot that wants no process keeps it" =>
        [patch("nodes/slot_policy", "in_use:      { none: :stop,", "in_use:      { none: :wait,")],
      "an ill-timed successor is launched for a node that ends on its own" =>
        [patch("nodes/slot_policy", "ending:      { none: :wait, one: :wait, new: :wait }",
               "ending: { none: :wait, one: :launch_successor, new: :wait }")],
      "the node of a mold that was rolled back stays" =>
        [patch("rollout/rolling_update",
               "@node_pool.replace(slot.node, @reason) if slot.node&.mold == @mold", "nil")],
      "the generation of a rollout isn't wanted of the slots" =>
        [patch("nodes/slot", "@generation = generation\n@renewed_for = reason",
               "@renewed_for = reason")],
      "remaining nodes aren't killed at stop_timeout" =>
        [patch("nodes/node_pool", "{ stop_timed_out }", "{ nil }")],
      "a second TERM doesn't force" =>
        [patch("supervisor/signal_handler", "again ? @supervisor.force(name) :", "again ? nil :")],
      "a mold that dies isn't started again" =>
        [patch("molds/mold_pool", "restart unless mold.candidate? || retired", "nil")],
      "a node that never boots isn't killed" =>
        [patch("nodes/launcher", 'next node.kill("boot_timeout") if node.pidfd',
               "next if node.pidfd")],
      "liveness is checked once only" =>
        [patch("health/liveness_monitor", "check_by(now + @shortest)\n", "\n"),
         patch("health/liveness_monitor", "check_by(now + [*seconds, @shortest]",
               "([*seconds, @shortest]")],
      "a dead node's channel stays open" =>
        [patch("nodes/node_process", "[@channel, @pidfd].compact.each(&:close)",
               "[@pidfd].compact.each(&:close)")],
      "a dead node's timers continue" =>
        [patch("nodes/node_process", "[@boot_timer, @end_watch, *@watches]",
               "[@boot_timer, @end_watch]")],
      "a fork that was refused isn't tried again" =>
        [patch("nodes/fork_backoff", "@retry_at = now + seconds", "@retry_at = now + 1e9")],
      "a fork that was refused counts as a death at boot" =>
        [patch("nodes/slot", "|| process.ended_by_quiet? || process.fork_refused?",
               "|| process.ended_by_quiet?")],
      "a successor that can't be forked counts as one that works" =>
        [patch("nodes/slot", "node.equal?(@to_replace)", "false")],
      "a node continues beside its successor" =>
        [patch("nodes/slot_policy", "in_use:      { booting: :wait, ready: :stop,",
               "in_use:      { booting: :wait, ready: :wait,")],
      "the swarm ends without its helper" =>
        [patch("nodes/node_pool", "return @helper.stop_last if @helper&.live?", "")],
      "a forced end counts as a clean one" =>
        [patch("supervisor/lifecycle", "return ExitCode::FORCED if killed?", "")],
      "a mold that hangs at the end isn't killed" =>
        [patch("molds/mold_pool", "@loop.after(RELEASE_SECONDS) { kill }", "nil")],
      "a recycled node's turn is never over" =>
        [patch("nodes/budget", "def replaced(slot) = @replacing.delete(slot)",
               "def replaced(_slot) = nil")],
      "a slot waits for a process that can't be killed" =>
        [patch("nodes/node_exits", "@loop.after(2 * node.options.kill_timeout)",
               "@loop.after(200 * node.options.kill_timeout)")],
      "a spare that has stepped in isn't followed by another" =>
        [patch("nodes/node_pool", "spare_slot.not_before = OS.now + REFILL_DELAY",
               "spare_slot.not_before = Float::INFINITY")],
      "a reload that fails keeps its mold" =>
        [patch("rollout/rolling_update", "retire(@mold) if @mold&.live?", "")],
      "a dead mold's last messages are lost" =>
        [patch("molds/mold_pool", "mold.channel.drain", "")],

      # SlotPolicy's tables.
      "an empty slot that wants no process gets one" =>
        [patch("nodes/slot_policy", "empty:       { none: :wait,", "empty: { none: :launch,")],
      "an empty slot gets no process" =>
        [patch("nodes/slot_policy", "none: :wait, one: :launch, new: :launch }",
               "none: :wait, one: :wait, new: :launch }")],
      "a process that is wanted is stopped" =>
        [patch("nodes/slot_policy", "{ none: :stop, one: :wait, new: :launch_successor },",
               "{ none: :stop, one: :stop, new: :launch_successor },")],
      "an old process gets no successor" =>
        [patch("nodes/slot_policy", "{ none: :stop, one: :wait, new: :launch_successor },",
               "{ none: :stop, one: :wait, new: :wait },")],
      "an old process is stopped instead of followed" =>
        [patch("nodes/slot_policy", "{ none: :stop, one: :wait, new: :launch_successor },",
               "{ none: :stop, one: :wait, new: :stop },")],
      "a successor is launched for a process that ends and has none to make way for" =>
        [patch("nodes/slot_policy", "ending:      { none: :wait, one: :wait, new: :wait }",
               "ending: { none: :wait, one: :launch_successor, new: :launch_successor }")],
      "a process is stopped while its successor boots" =>
        [patch("nodes/slot_policy", "in_use:      { booting: :wait,", "in_use: { booting: :stop,")],
      "a process is stopped while its successor ends" =>
        [patch("nodes/slot_policy", "ready: :stop, ending: :wait,",
               "ready: :stop, ending: :stop,")],
      "a rejected successor stays" =>
        [patch("nodes/slot_policy", "ready: :stop, ending: :wait, rejected: :kill }",
               "ready: :stop, ending: :wait, rejected: :wait }")],
      "a successor counts as ready while it boots" =>
        [patch("nodes/slot_policy", "process.ready? && !process.stepping_in? ? :ready : :booting",
               ":ready")],
      "a process's own reason doesn't count" =>
        [patch("nodes/slot_policy", "slot.reason_to_replace ? :new : :one",
               "slot.outdated? ? :new : :one")],
      "only a process's own reason counts" =>
        [patch("nodes/slot_policy", "slot.reason_to_replace ? :new : :one",
               "slot.node&.replace_for ? :new : :one")],

      # Budget.
      "one node too many boots" =>
        [patch("nodes/budget", "@booting.size >= @config.boot_concurrency",
               "@booting.size > @config.boot_concurrency")],
      "a boot doesn't give its room back" =>
        [patch("nodes/budget",
               "@booting.select! { |node| node.state == :booting && @node_table.include?(node) }",
               "")],
      "a rollout replaces one slot too many" =>
        [patch("nodes/budget", "kind == :rollout ? 1 :", "kind == :rollout ? 2 :")],
      "one slot too many is replaced for a reason of its own" =>
        [patch("nodes/budget", "[@slots.call.size / SHARE, 1].max", "2")],
      "a successor needs no room to boot" =>
        [patch("nodes/slot_policy", "return [:wait, :room] unless budget.boot?(slot, now)",
               "return [:wait, :room] unless budget.open? && budget.mold_for(slot)&.ready?")],

      # Generations.
      "a rollout has no generation of its own" =>
        [patch("nodes/node_pool", "@last_generation += 1", "@last_generation")],
      "a canary that fails keeps the new generation" =>
        [patch("rollout/rolling_update", "@canary&.renew(@generation_before, @reason)", "nil")],
      "a canary is forked from the old mold" =>
        [patch("nodes/budget", "slot.trial_mold || mold", "mold")],
      "a canary counts as ready before it is" =>
        [patch("rollout/rolling_update", "slot.node.ready? && !slot.replacing", "true")],
      "a rollout ends before all nodes are new" =>
        [patch("rollout/rolling_update", "finish if @left.empty?", "finish if @left.size < 2")],
      "a rollout doesn't end" =>
        [patch("rollout/rolling_update", "finish if @left.empty?", "nil")],
      "a second HUP is refused" =>
        [patch("rollout/change_coordinator",
               '@under_way == "refork" || (@under_way == "reload" && name == "reload")',
               '@under_way == "refork"')],
      "a second HUP is forgotten" =>
        [patch("rollout/change_coordinator", "@supervisor.loop.after(0) { start_next }", "nil")],

      # ErrorGuard.
      "an error of a callback escapes" =>
        [patch("runtime/error_guard", "raise unless @keep_running || harmless",
               "raise unless harmless")],
      "an error isn't counted" =>
        [patch("runtime/error_guard", "@count += 1", "nil")],
      "an error isn't published" =>
        [patch("runtime/error_guard",
               "publishing { publish_event(error, action, subject) }", "")],
      "many errors are never too many" =>
        [patch("runtime/error_guard", "!harmless && more_than_limit?(@own)", "false")],
      "each error of a storm is published" =>
        [patch("runtime/error_guard", "return false if more_than_limit?(@all)", "")],
      "too many errors don't end the swarm" =>
        [patch("supervisor", "{ end_after_errors } if too_many", "{ nil } if too_many")]
    }.freeze

    class << self
      # names: parts of the mutations' names; none runs all.
      def run(names)
        chosen = ALL.select { |name, _| names.empty? || names.any? { |part| name.include?(part) } }
        missed = chosen.reject { |name, patches| found?(name, patches) }
        puts "#{chosen.size - missed.size} of #{chosen.size} mutations found"
        missed.empty? && chosen.any?
      end

      # Writes the changed files to the folder.
      def plant_all(folder, patches) = patches.each { |patch| patch.plant(folder) }

      private

      def found?(name, patches)
        seed, what, seconds = hunt(patches)
        result = seed ? format("seed %5d, %4.0f s: %s", seed, seconds, what[0, 60]) : "NOT FOUND"
        puts format("%-62s %s", name, result)
        $stdout.flush
        !seed.nil?
      end

      # Runs the seeds in a separate Ruby that loads the changed lib.
      def hunt(patches)
        Dir.mktmpdir("skep-mutation") do |folder|
          plant_all(folder, patches)
          program = ["test/simulation/command.rb", "hunt", SEEDS, STEP].map(&:to_s)
          folders = ["-I#{folder}", "-r./test/load_path"]
          text = IO.popen([RbConfig.ruby, *folders, *program], &:read)
          raise "the mutated program fails" unless $CHILD_STATUS.success?

          seed, seconds, what = text.lines.last.to_s.chomp.split(" ", 3)
          sound!(Integer(seed)) if seed
          seed && [Integer(seed), what.to_s, Float(seconds)]
        end
      end

      # Raises if the seed breaks an invariant without the mutation.
      def sound!(seed)
        what = Campaign.verdict(Schedule.of(seed)) or return
        raise "seed #{seed} breaks an invariant without any mutation: #{what}"
      end
    end
  end
end
