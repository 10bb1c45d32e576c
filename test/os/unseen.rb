# frozen_string_literal: true

# Forks behind Ruby's back, for programs of tests: source that defines
#
#   unseen { … }   # runs the block in a process forked in C, and waits for its end
#   clone { … }    # the same by a raw clone(2)
#   from_ractor { … }   # what the block returns in a Ractor of its own
module Unseen
  SOURCE = <<~'RUBY'
    require "fiddle"
    $stdout.sync = true

    def in_c(name, *arguments)
      types = [Fiddle::TYPE_LONG] * arguments.size
      pid = Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], types, Fiddle::TYPE_INT)
                            .call(*arguments)
      pid.zero? ? (yield; exit!) : Process.wait(pid)
    end

    def unseen(&block) = in_c("fork", &block)
    def clone(&block) = in_c("syscall", 56, Signal.list["CHLD"], 0, 0, 0, 0, &block)
    def really = Integer(File.readlink("/proc/self"))

    # Until it is gone: a child forked while a Ractor ends may find Ruby's lock of Ractors held for
    # good (1 of 300 with Ruby 3.1 on a busy machine).
    def from_ractor(&block)
      ractor = Ractor.new(&block)
      ractor.respond_to?(:take) ? ractor.take : ractor.value # take went with Ruby 4
    ensure
      nil until Ractor.count == 1 # nothing tells of it
    end

    PID = $$ # so that a Ruby which caches it has done so
  RUBY

  # Can such a fork be seen at all? The fallback asks Ruby, which has cached it from 3.3 on.
  def sees_unseen? = Skep::OS.native? || RUBY_VERSION < "3.3"

  def needs_to_see_unseen
    skip "Ruby's cache of the pid hides it from the fallback" unless sees_unseen?
  end

  # What the program printed; `first` comes before the feature is required.
  def walk_unseen(source, feature: "skep/fork", first: "")
    out, err, status = run_program("#{first}\nrequire #{feature.inspect}\n#{SOURCE}#{source}")
    assert_equal "", err.gsub(/^.*Ractor is experimental.*\n/, "")
    assert_predicate status, :success?
    out
  end

  def needs_clone
    skip "the number of clone(2) is x86-64's" unless RUBY_PLATFORM.start_with?("x86_64")
  end
end
