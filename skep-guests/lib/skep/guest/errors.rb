# frozen_string_literal: true

module Skep
  class Guest
    # The server's gem isn't there, or in a version that this gem doesn't know.
    class WrongGem < Skep::Error
      def initialize(name, bounds, found)
        words = bounds.map { |bound| "\"#{bound}\"" }.join(", ")
        super("skep/#{name} needs the gem #{name}, #{bounds.join(" and ")}, and finds " \
              "#{found || "none"}: add `gem \"#{name}\", #{words}` to the Gemfile")
      end

      def exit_code = ExitCode::CONFIGURATION # another attempt would fail, too
    end

    # The server's configuration contradicts that of the swarm.
    class WrongConfiguration < BootError
      def exit_code = ExitCode::CONFIGURATION # another attempt would fail, too
    end

    # Redis, a broker or a database isn't there.
    class Unavailable < BootError
      def exit_code = ExitCode::UNAVAILABLE # another attempt may succeed
    end
  end
end
