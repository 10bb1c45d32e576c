# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class SignalHandlerTest < Skep::TestCase
  SignalHandler = Skep::Swarm::Supervisor::SignalHandler
  # Records the calls that signals lead to.
  class Supervisor
    attr_reader :calls
    attr_accessor :asked_to_stop
    alias asked_to_stop? asked_to_stop

    def initialize = @calls = []
    def changes = self
    def events = self

    def guard(action)
      yield
    rescue StandardError => e
      calls << [action, e.message]
    end

    %i[stop force].each { |name| define_method(name) { |signal| calls << [name, signal] } }
    %i[quiet backtraces reopen restart reload reap].each do |name|
      define_method(name) { calls << name }
    end
  end
  # Prints the signals that a real supervisor process receives. A fork of it receives none.
  PROGRAM = <<~'RUBY'
    require "skep"
    supervisor = Struct.new(:loop) do
      def events = self
      def guard(_action) = yield
      def quiet = puts("quiet")
      def reopen = puts("reopen")
    end.new(Skep::OS::EventLoop.new)
    $stdout.sync = true
    handler = Skep::Swarm::Supervisor::SignalHandler.new(supervisor)
    handler.watch
    Process.kill(:TSTP, Process.pid)
    supervisor.loop.turn(5)
    Process.kill(:USR1, Process.pid)
    Process.kill(:USR1, Process.pid)
    supervisor.loop.turn(5)
    Process.wait(fork { handler.close_in_child })
    handler.release(program: false)
    Process.kill(:TERM, Process.pid) # ignored from here on
    puts "ended"
  RUBY
  private_constant :SignalHandler, :Supervisor, :PROGRAM

  def setup
    super
    @supervisor = Supervisor.new
    @signal_handler = SignalHandler.new(@supervisor)
  end

  test "each signal has one meaning" do
    { "QUIT" => [:force, "QUIT"], "TSTP" => :quiet, "TTIN" => :backtraces, "USR1" => :reopen,
      "USR2" => :restart, "HUP" => :reload, "CHLD" => :reap }.each do |name, call|
      @signal_handler.handle(name)
      assert_equal call, @supervisor.calls.last, name
    end
    @signal_handler.handle("XFSZ")
    assert_equal 7, @supervisor.calls.size
  end

  test "a TERM within a second of an INT is the same stop, because foreman sends both" do
    %w[INT TERM].each { |name| @signal_handler.handle(name) }
    assert_equal [[:stop, "INT"]], @supervisor.calls
  end

  test "two TERMs that a busy supervisor reads at once are two" do
    now = Skep::OS.now
    @signal_handler.handle_all([["TERM", now - 2], ["USR1", now - 1.5], ["USR1", now - 1],
                                ["TERM", now - 0.98], ["TERM", now - 0.97]])
    assert_equal [[:stop, "TERM"], :reopen, [:force, "TERM"]], @supervisor.calls
  end

  test "a signal at which the supervisor fails is reported, and the next ones are handled" do
    def @supervisor.reopen = raise("a bug")
    @signal_handler.handle_all([["USR1", 0.0], ["TSTP", 0.0]])
    assert_equal [["signal USR1", "a bug"], :quiet], @supervisor.calls
  end

  test "a TERM forces the stop if a command has asked for one before" do
    @supervisor.asked_to_stop = true
    @signal_handler.handle("TERM")
    assert_equal [[:force, "TERM"]], @supervisor.calls
  end

  test "signals reach the supervisor through its loop, a repeated one once" do
    out, err, status = run_program(PROGRAM)
    assert_equal ["", 0], [err, status.exitstatus]
    assert_equal %w[quiet reopen ended], out.lines(chomp: true)
  end
end
