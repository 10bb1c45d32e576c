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

        answer
      end

      def control_path
        options[:control] || (named? ? named(@arguments.shift) : the_only_one)
      end

      # Is it said which swarm is meant?
      def named? = options[:control] || @arguments.any?

      def named(name)
        path = File.join(directory, "#{name}.sock")
        return path if File.socket?(path)

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

      def running = Dir.glob(File.join(directory, "*.sock")).sort.select { |path| listens?(path) }
      def name_of(path) = File.basename(path, ".sock")
      def directory = Swarm::Config.run_directory

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
