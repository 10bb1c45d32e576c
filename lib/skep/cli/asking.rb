# frozen_string_literal: true

# For commands that talk to a running swarm:
# found by name, by --control PATH, or because it is the only one here.
module Skep
  module CLI
    module Asking
      TAKES = :swarm

      private

      def declare(parser)
        parser.on("--control PATH", "the swarm's status socket") { |path| options[:control] = path }
        super
      end

      def ask(command, path: control_path, **facts)
        answer = Watch::Query.new(path).ask(command, **facts)
        raise NotDone, answer["error"] if answer["error"]
        return answer if answer["done"]

        raise Watch::Query::Failed.new(path:, error: Watch::Answer::Foreign.new.message)
      end

      def control_path
        options[:control] || (named? ? named(@arguments.shift) : the_only_one)
      end

      # Is it said which swarm is meant?
      def named? = options[:control] || @arguments.any?

      def named(name)
        path = File.join(directory, "#{name}.sock")
        return path if ours?(path)

        raise NotDone, "no swarm called #{name} runs here: #{others(name)}"
      end

      def others(name)
        names = running.map { |path| name_of(path) }
        nearest = Nearest.to(name, names)
        return "did you mean #{nearest}?" if nearest

        names.empty? ? "none does" : "there are #{names.join(", ")}"
      end

      def the_only_one
        paths = running
        return paths.first if paths.one?
        raise NotDone, "no swarm runs here: name its socket with --control PATH" if paths.empty?

        names = paths.map { |path| name_of(path) }
        raise NotDone, "several swarms run here: name one of #{names.join(", ")}"
      end

      def running
        Dir.glob("*.sock", base: directory).sort.map { |file| File.join(directory, file) }
           .select { |path| ours?(path) && listens?(path) }
      end

      def name_of(path) = File.basename(path, ".sock")

      # Where nobody else can put a socket in a swarm's place.
      def directory
        @directory ||= Swarm::Definition::RunDirectory.new(Swarm::Definition::RunDirectory.path).check
      end

      def ours?(path)
        stat = File.lstat(path)
        stat.socket? && Swarm::Definition::RunDirectory.trusted?(stat, asking: true)
      rescue SystemCallError
        false
      end

      # A supervisor that was killed leaves its socket.
      def listens?(path)
        Watch::Connection.try(path).close
        true
      rescue Errno::EAGAIN # many ask
        true
      rescue SystemCallError, ArgumentError
        false
      end
    end
  end
end
