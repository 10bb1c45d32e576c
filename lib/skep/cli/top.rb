# frozen_string_literal: true

require "skep/cli/asking"

# `skep top [NAME]`: a running swarm in a terminal, live, and keys to steer it. Where there is no
# terminal it prints its table once.
#
# A `Session` draws on a `Screen` what a `Wire` brings; what is drawn is a pure function of a `View`
# and a size: `Frame`. It costs the supervisor one status a second, two where much happens.
module Skep
  module CLI
    class Top < Command
      include Asking

      PURPOSE = "watch a running swarm, and steer it by keys"
      USAGE = "skep top [NAME] [--once]"
      EXAMPLES = ["skep top", "skep top billing", "skep top billing --once > top.txt"].freeze
      PLAIN_COLUMNS = 160
      private_constant :PLAIN_COLUMNS

      private

      def declare(parser)
        super
        parser.on("--once", "print it once; so does an output that is no terminal") do
          options[:once] = true
        end
      end

      def perform
        require "skep/cli/top/parts"
        path = control_path
        nothing_more
        status = Watch::Query.new(path).status
        live? ? Session.new(path, status, input: $stdin, output: out).run : once(status)
        0
      end

      def live?
        !options[:once] && out.tty? && $stdin.tty? && !["", "dumb"].include?(ENV["TERM"].to_s)
      end

      def once(status)
        view = View.new(status:, figures: Meter.new.take(status, OS.now, pids: false))
        out.puts(Frame.new(Paint.new(colours: false)).plain(view, columns:))
      end

      def columns
        return PLAIN_COLUMNS unless out.tty?

        out.winsize.last.then { |columns| columns.positive? ? columns : PLAIN_COLUMNS }
      end
    end
  end
end
