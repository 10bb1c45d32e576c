# frozen_string_literal: true

require "test_helper"
require "tmpdir"
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

  test "ends with 0 and no output if the supervisor rejects its file before prepare" do
    ours, theirs = Skep::Swarm::IPC::Channel.pair
    file = File.join(Dir.mktmpdir, "swarm.rb")
    File.write(file, 'Skep.swarm("s") { |swarm| swarm.work {} }')
    reader, writer = IO.pipe
    pid = spawn_mold(theirs, file, writer)
    [theirs, writer].each(&:close)
    ours.post("load", { "mold" => 0, "supervisor" => Process.pid })
    assert_equal "loaded", ours.take.type
    ours.post("leave")
    ours.close
    assert_equal ["", 0], [reader.read, Process.wait2(pid).last.exitstatus]
  ensure
    [reader, ours].each(&:close)
    FileUtils.rm_rf(File.dirname(file))
  end

  private

  def spawn_mold(theirs, file, output)
    load_path = File.expand_path("../../../../load_path", __dir__)
    command = [RbConfig.ruby, "-r", load_path, "-rskep", "-e",
               "Skep::Swarm::Processes::MoldMain.main", "--", file]
    Process.spawn(*command, in: File::NULL, %i[out err] => output, close_others: true,
                            **MoldMain.descriptors(theirs))
  end
end
