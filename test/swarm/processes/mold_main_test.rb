# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class MoldMainTest < Skep::TestCase
  MoldMain = Skep::Swarm::Processes::MoldMain
  SLOTS = "RUBY_GC_HEAP_INIT_SLOTS"
  private_constant :MoldMain, :SLOTS

  test "removes from the environment only the variables that the launcher has set" do
    env = { "HOME" => "/", SLOTS => "5", "SKEP_HEAP_SLOTS" => "1" }
    MoldMain.clean_environment(env)
    assert_equal({ "HOME" => "/" }, env)
    theirs = { SLOTS => "5" }
    MoldMain.clean_environment(theirs)
    assert_equal({ SLOTS => "5" }, theirs)
  end
end
