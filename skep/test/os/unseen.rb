# frozen_string_literal: true

# Forks that Ruby doesn't notice, for programs that tests run. SOURCE defines:
#
#   unseen { … }        # runs the block in a process forked in C, and waits for its end
#   clone { … }         # the same by a raw clone(2)
#   from_ractor { … }   # returns what the block returns in a Ractor of its own
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

    # Waits until the Ractor is gone. A child forked while a Ractor ends may find Ruby's lock of
    # Ractors held for ever (1 of 300 with Ruby 3.1 on a busy machine).
    def from_ractor(&block)
      ractor = Ractor.new(&block)
      ractor.respond_to?(:take) ? ractor.take : ractor.value # take went with Ruby 4
    ensure
      nil until Ractor.count == 1 # Ruby has no event for it
    end

    PID = $$ # so that Ruby has cached it, if it does
  RUBY

  # Returns true if such a fork can be detected. The fallback asks Ruby, which caches the pid from
  # 3.3 on.
  def detects_unseen? = Skep::OS.native? || RUBY_VERSION < "3.3"

  def needs_detection
    skip "the fallback can't detect it because of Ruby's pid cache" unless detects_unseen?
  end

  # Returns what the program printed. `first` runs before the feature is required.
  def output_with_unseen(source, feature: "skep/fork", first: "")
    out, err, status = run_program("#{first}\nrequire #{feature.inspect}\n#{SOURCE}#{source}")
    assert_equal "", err.gsub(/^.*Ractor is experimental.*\n/, "")
    assert_predicate status, :success?
    out
  end

  def needs_clone
    skip "the number of clone(2) is x86-64's" unless RUBY_PLATFORM.start_with?("x86_64")
  end
end
