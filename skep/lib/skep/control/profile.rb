# frozen_string_literal: true

# The profiles of a swarm's nodes, merged: what a swarm has answered to the command `profile`.
#
#   profile = Profile.of(answer["profile"])         # or InvalidAnswer
#   profile.select(work: "orders", thread: "main")  # => a Profile with these samples only
#   profile.top("cpu", 10)   # => [{ name:, file:, line:, seconds:, percent:, in: }, …] by self time
#   profile.seconds("cpu")   # => of all nodes
#   profile.nodes            # => [Node, …]
#   profile.missing          # => [{ "node" => 2, "why" => "it ended meanwhile", … }, …]
#   profile.stacks           # => [Stack, …]
#
# A C function stands at the line of Ruby code that has called it. `in` is the nearest method of the
# application in most of the stacks, neither Ruby's nor a gem's: { name:, file:, line: }, or nil.
module Skep
  module Control
    class Profile
      STATES = { "cpu" => "on a CPU", "queue" => "waiting for a CPU",
                 "gvl" => "waiting for the GVL", "wait" => "waiting" }.freeze
      LIBRARY = %r{\A<|/gems/|/lib/ruby/|#{Regexp.escape(File.expand_path("..", __dir__))}/}
      DECIMALS = 1
      private_constant :LIBRARY, :DECIMALS

      Node = Struct.new(:id, :work, :pid, :seconds, :cpu, :samples, :lost, :sampler, :dropped,
                        :dropped_stacks, keyword_init: true)
      # frames: [name, file, line], the innermost first. line: the innermost of Ruby code.
      Stack = Struct.new(:state, :node, :thread, :label, :line, :frames, :seconds)

      SUMS = ->(sums) { sums.is_a?(Hash) && sums.each_value.all?(Numeric) }
      TEXTS = Answer.any(String, nil)
      FRAME = lambda do |frame|
        frame.is_a?(Array) && frame.size == 3 && frame[0].is_a?(String) && TEXTS[frame[1]] &&
          (frame[2].nil? || frame[2].is_a?(Integer))
      end
      STACK = lambda do |stack|
        stack.is_a?(Array) && stack.size == 6 && STATES.key?(stack[0]) &&
          stack[1..3].all?(Integer) && stack[4].is_a?(Array) && stack[4].all?(Integer) &&
          Answer::NUMBER[stack[5]]
      end
      PART = { "seconds" => Answer::NUMBER, "cpu" => Answer::NUMBER, "samples" => Integer,
               "lost" => Integer, "threads" => [TEXTS], "labels" => [Hash], "frames" => [FRAME],
               "stacks" => [STACK], "dropped" => SUMS, "dropped_stacks" => Integer }.freeze
      ANSWER = { "swarm" => String, "seconds" => Answer::NUMBER,
                 "nodes" => [{ "profile" => String, "work" => TEXTS }],
                 "missing" => [{ "why" => String }] }.freeze
      private_constant :SUMS, :TEXTS, :FRAME, :STACK, :PART, :ANSWER

      class << self
        def of(answer)
          raise InvalidAnswer unless Answer.fits?(answer, ANSWER)

          nodes, stacks = answer["nodes"].map { |one| read(one) }.transpose
          new(answer["swarm"], answer["seconds"], nodes.to_a, stacks.to_a.flatten(1),
              answer["missing"])
        end

        private

        def read(answer)
          part = Answer.json(answer["profile"])
          raise InvalidAnswer unless Answer.fits?(part, PART)

          node = Node.new(id: answer["node"], work: answer["work"], pid: answer["pid"],
                          sampler: part["sampler"] == true,
                          **%w[seconds cpu samples lost dropped dropped_stacks].to_h do |key|
                            [key.to_sym, part[key]]
                          end)
          threads, labels, frames = part.values_at("threads", "labels", "frames")
          stacks = part["stacks"].map do |state, thread, label, line, numbers, seconds|
            Stack.new(state, node, threads[thread].to_s, labels[label].to_h, line,
                      frames.values_at(*numbers).compact, seconds)
          end
          [node, stacks]
        end
      end

      attr_reader :swarm, :asked_seconds, :nodes, :stacks, :missing

      def initialize(swarm, asked_seconds, nodes, stacks, missing)
        @swarm, @asked_seconds = swarm, asked_seconds
        @nodes, @stacks, @missing = nodes, stacks, missing
      end

      # nil: any. node: its number. label: facts, such as { "topic" => "orders" }.
      def select(work: nil, node: nil, thread: nil, label: {})
        nodes = @nodes.select do |one|
          [nil, one.work].include?(work) && [nil, one.id].include?(node)
        end
        stacks = @stacks.select do |stack|
          nodes.include?(stack.node) && [nil, stack.thread].include?(thread) &&
            label.all? { |name, value| stack.label[name] == value }
        end
        # Whose the stacks were that a node had no room for isn't known.
        part = thread.nil? && label.empty?
        nodes = nodes.map { |one| one.dup.tap { |copy| copy.dropped = {} } } unless part
        self.class.new(@swarm, @asked_seconds, nodes, stacks, @missing)
      end

      def works = @nodes.map(&:work).uniq

      # With the stacks that the nodes had no room for.
      def seconds(state)
        of(state).sum(&:seconds) + @nodes.sum { |node| node.dropped.fetch(state, 0.0) }
      end

      def dropped_stacks = @nodes.sum(&:dropped_stacks)
      def lost = @nodes.sum(&:lost)
      def samples = @nodes.sum(&:samples)

      # most: how many.
      def top(state, most)
        all = seconds(state)
        groups = of(state).group_by { |stack| place(stack).first(2) }
        rows = groups.map do |(name, file), stacks|
          seconds = stacks.sum(&:seconds)
          { name:, file:, line: heaviest(stacks) { |stack| place(stack).last },
            seconds: seconds.round(3),
            percent: all.zero? ? 0.0 : (100 * seconds / all).round(DECIMALS),
            in: heaviest(stacks) { |stack| application(stack) } }
        end
        rows.sort_by { |row| [-row[:seconds], row[:name]] }.first(most)
      end

      private

      def of(state) = @stacks.select { |stack| stack.state == state }

      # Its innermost frame, with the file and line of Ruby code.
      def place(stack)
        ruby = stack.frames.find { |_, file, _| file }
        [stack.frames.dig(0, 0) || "(no frame)", ruby && ruby[1], (stack.line if ruby)]
      end

      def application(stack)
        name, file, line = stack.frames.find { |_, path, _| path && !path.match?(LIBRARY) }
        { name:, file:, line: } if name
      end

      def heaviest(stacks)
        stacks.group_by { |stack| yield(stack) }
              .max_by { |_, same| same.sum(&:seconds) }.first
      end
    end
  end
end
