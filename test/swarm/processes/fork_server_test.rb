# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ForkServerTest < Skep::TestCase
  test "doesn't use a preforked child if the kernel refuses to pass the order's descriptor" do
    out, = run_program(<<~'RUBY')
      require "skep/swarm"
      Process::UID.change_privilege(65_534) if Process.uid.zero?
      loop = Skep::OS::EventLoop.new
      preforked = Skep::Swarm::Processes::ForkServer::PreforkedChild.new(loop) do |order|
        fork { IO.select([order]) }
      end
      preforked.soon
      loop.turn(1)
      hog, hogged = UNIXSocket.pair
      null = File.open(IO::NULL)
      Process.setrlimit(:NOFILE, 30, Process.getrlimit(:NOFILE).last)
      rights = Socket::AncillaryData.unix_rights(*[null] * 8)
      begin
        10.times { hog.sendmsg("x", 0, nil, rights) }
      rescue Errno::ETOOMANYREFS
        puts "full"
      end
      order = Skep::Swarm::IPC::Channel::Message.new("fork", {}, [], 0)
      p preforked.take(order, null)
    RUBY

    assert_equal "full\nnil\n", out
  end
end
