# frozen_string_literal: true

require "skep/fork"
require "skep/pid_cache/fallback"

# Makes Process.pid and $$ a cached read on Ruby 3.1 and 3.2, where each is a system call, for all
# code of the process. Load it early.
#
#   require "skep/pid_cache"
#   Process.pid, $$            # cost as much as an empty method, and as a global variable
#   Skep::PidCache.active?     # => false on Ruby 3.3 or newer, which has its own cache
#   Skep::PidCache.status      # => a sentence: what was done, or why nothing
#
# The pid is right in each forked child, however it was forked. Aliases of $$ (English) are cached,
# too. If Ruby can't be changed (a frozen Process), status says so. Without the C extension Fallback
# caches Process.pid alone. Which pid to use when: docs/articles/pid.md.
module Skep
  module PidCache
    CACHED_BY_RUBY = (RUBY_VERSION.split(".").map(&:to_i) <=> [3, 3]) >= 0
    private_constant :CACHED_BY_RUBY

    # Returns true if skep has replaced Process.pid.
    def self.active? = @active

    # Returns what was done, or why nothing, in a sentence.
    def self.status = @status

    # Installs the cache and returns [active?, status].
    def self.install
      return unchanged("Ruby #{RUBY_VERSION} caches the pid itself") if CACHED_BY_RUBY
      return unchanged("Process is frozen") if Process.frozen?

      OS::Generation.respond_to?(:__install_in_ruby) ? in_c : Fallback.install
    end

    def self.unchanged(because) = [false, "nothing was changed: #{because}"]

    def self.in_c
      OS::Generation.__install_in_ruby
      [true, "Process.pid and $$ read a page that the kernel wipes at each fork"]
    end
    private_class_method :install, :unchanged, :in_c

    @active, @status = install unless @active
  end
end
