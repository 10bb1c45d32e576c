# frozen_string_literal: true

require "test_helper"
require "skep/os"

# Where there are no such locks, it is said.
class RobustLocksFallbackTest < Skep::TestCase
  test "says that it can't" do
    out, err, = run_program(<<~RUBY, env: { "SKEP_PURE" => "1" })
      require "skep/os"
      page = Skep::OS::SharedPage.create(1)
      locks = Skep::OS::RobustLocks.new(page)
      print Skep::OS::RobustLocks.supported?, " "
      begin
        locks.hold(0)
      rescue Skep::OS::Unsupported => error
        print error.message
      end
    RUBY
    assert_equal "", err
    assert_match(/\Afalse a lock that tells of its holder's end isn't possible here/, out)
  end
end
