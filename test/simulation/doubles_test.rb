# frozen_string_literal: true

require "test_helper"
require "simulation/world"
require "support/doubles"

# The simulation's doubles have the methods of the real objects, with the same parameters.
class SimulationDoublesTest < Skep::TestCase
  include Doubles

  Supervisor = Skep::Swarm::Supervisor
  MoldLauncher = Skep::Swarm::Molds::MoldLauncher
  SOCKET = %i[to_io fileno closed? close sendmsg_nonblock recvmsg_nonblock wait_readable].freeze
  private_constant :Supervisor, :MoldLauncher, :SOCKET

  { Simulation::Kernel => Skep::OS::Machine, Simulation::Poller => Skep::OS::EventLoop::Poller,
    Simulation::Pidfd => Skep::OS::Pidfd, Simulation::Signals => Supervisor::SignalHandler,
    Simulation::Reaper => Supervisor::OrphanReaper,
    Simulation::Launcher => MoldLauncher::Exec }.each do |double, real|
    test "#{double} has the methods of #{real}" do
      assert_stands_for double, real
    end
  end

  test "a simulated socket has the methods of a real one that a channel calls" do
    assert_stands_for Simulation::Socket, UNIXSocket, SOCKET
  end

  test "both launchers have the same methods" do
    assert_equal own_methods(MoldLauncher::Exec).sort, own_methods(MoldLauncher::Fork).sort
  end

  test "simulated signals and reapers are created with the same parameters as real ones" do
    { Simulation::SignalsOf => Supervisor::SignalHandler,
      Simulation::ReaperOf => Supervisor::OrphanReaper }.each do |double, real|
      assert_equal kinds(real.instance_method(:initialize)), kinds(double.instance_method(:new))
    end
  end
end
