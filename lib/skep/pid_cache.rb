# frozen_string_literal: true

require "skep/fork"
require "skep/pid_cache/fallback"

# Makes Process.pid and $$ cost a cached read where Ruby asks the kernel each time (3.1 and 3.2),
# for all code of the process: load it early.
#
#   require "skep/pid_cache"
#   Process.pid, $$            # at the price of an empty method, and of a global variable
#   Skep::PidCache.active?     # => false on Ruby 3.3 or newer, which caches itself: nothing changes
#   Skep::PidCache.status      # => what was done, or why nothing, in a sentence
#
# Right in a forked child, whoever forked it and how; an alias of $$ such as English's goes along.
# It refuses nothing: where Ruby can't be changed (a frozen Process) it says so and leaves it alone.
# Without the C, Fallback does what can be done. Which pid to ask when: docs/pid.md.
module Skep
  module PidCache
    CACHED_BY_RUBY = (RUBY_VERSION.split(".").map(&:to_i) <=> [3, 3]) >= 0
    private_constant :CACHED_BY_RUBY

    # Does skep answer for Process.pid now?
    #
    #: () -> bool
    def self.active? = @active

    # What was done, or why nothing, in a sentence.
    #: () -> String
    def self.status = @status

    # [active?, status], having done what can be done.
    #
    #: () -> [bool, String]
    def self.install
      return unchanged("Ruby #{RUBY_VERSION} caches the pid itself") if CACHED_BY_RUBY
      return unchanged("Process is frozen") if Process.frozen?

      OS::Generation.respond_to?(:__install_in_ruby) ? in_c : Fallback.install
    end

    #: (String because) -> [bool, String]
    def self.unchanged(because) = [false, "nothing was changed: #{because}"]

    #: () -> [bool, String]
    def self.in_c
      OS::Generation.__install_in_ruby
      [true, "Process.pid and $$ read a page that the kernel wipes at each fork"]
    end
    private_class_method :install, :unchanged, :in_c

    @active, @status = install unless @active
  end
end
