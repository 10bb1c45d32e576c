# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/error"
require "skep/error_place"

# Which line of a backtrace is shown as the place of an error.
class ErrorPlaceTest < Skep::TestCase
  LIB = File.expand_path("../lib", __dir__)
  GEM = "#{Gem.path.first}/gems/pg-1.5/lib/pg.rb:3:in `exec'"
  GIT = "#{Gem.path.first}/bundler/gems/pg-1a2b3c/lib/pg.rb:4:in `exec'"
  OWN = "#{LIB}/skep/swarm/node.rb:48:in `each'"
  RUBY = "#{RbConfig::CONFIG["rubylibdir"]}/json/common.rb:9:in `parse'"
  INTERNAL = "<internal:kernel>:187:in `loop'"
  APP = "#{Dir.pwd}/app/order.rb:12:in `bill'"
  private_constant :LIB, :GEM, :GIT, :OWN, :RUBY, :INTERNAL, :APP

  {
    "the line that raised" => [[APP, OWN], "app/order.rb:12"],
    "the application's line that called a gem" => [[GEM, GIT, RUBY, APP, OWN], "app/order.rb:12"],
    "the application's line below skep's own" => [[OWN, INTERNAL, APP, OWN], "app/order.rb:12"],
    "a gem's line if there is none of the application" =>
      [[RUBY, GEM, OWN], GEM[/\A.+:3/].delete_prefix("#{Dir.pwd}/")], # in vendor/bundle, say
    "an absolute path outside of the application" =>
      [["/srv/other.rb:7:in `x'"], "/srv/other.rb:7"],
    "a line without a method" => [["#{Dir.pwd}/swarm.rb:5"], "swarm.rb:5"],
    "an evaluated line" => [["-e:3:in `<main>'"], "-e:3"],
    "a gem's line, not the one that started the node" =>
      [[GEM, "#{LIB}/skep/swarm/processes/node_main.rb:50:in `run'", "-e:1:in `<main>'"],
       GEM[/\A.+:3/].delete_prefix("#{Dir.pwd}/")],
    "nothing if all lines are skep's and Ruby's" => [[OWN, RUBY, INTERNAL], nil],
    "nothing if it was never raised" => [nil, nil],
    "nothing for lines that are no places" => [["", "nowhere", "\xFF"], nil]
  }.each do |what, (backtrace, place)|
    test "shows #{what}" do
      found = Skep::ErrorPlace.of(error(backtrace))
      place ? assert_equal(place, found) : assert_nil(found)
    end
  end

  test "shows where a thread stands, and nothing of one that has ended" do
    queue, stands = Thread::Queue.new, Thread::Queue.new
    thread = Thread.new { [stands.push(true), queue.pop] }
    line = __LINE__ - 1
    stands.pop
    path = __FILE__.delete_prefix("#{Dir.pwd}/")
    assert_equal "#{path}:#{line}", Skep::ErrorPlace.of_thread(thread)
    queue << true
    thread.join
    assert_nil Skep::ErrorPlace.of_thread(thread)
  end

  test "shows where the cause was raised if the error is skep's own" do
    wrapped = begin
      begin
        raise error([APP])
      rescue StandardError
        raise Skep::Error, "wrapped"
      end
    rescue Skep::Error => e
      e.tap { e.set_backtrace([OWN]) }
    end
    assert_equal "app/order.rb:12", Skep::ErrorPlace.of(wrapped)
  end

  test "paths are relative to the directory of the swarm's file, if skep was started elsewhere" do
    lines = Dir.mktmpdir do |directory|
      File.write("#{directory}/swarm.rb", 'Skep.swarm("s") { |swarm| swarm.work { raise "no" } }')
      run_program(<<~RUBY, gems: false)
        Dir.chdir("/")
        require "skep"
        begin
          Skep::Swarm::Definition::Loader.new("#{directory}/swarm.rb").swarm.tasks.first.handler.call
        rescue RuntimeError => e
          puts Skep::ErrorPlace.of(e)
        end
      RUBY
    end
    assert_equal "swarm.rb:1\n", lines[0], lines[1]
  end

  test "a backtrace ends where skep called the handler, and has at most 20 lines" do
    assert_equal [GEM, OWN, APP], Skep::ErrorPlace.backtrace(error([GEM, OWN, APP, OWN, RUBY]))
    worker = "#{LIB}/skep/swarm/processes/node_main.rb:201:in `run'"
    assert_equal [GEM, APP], Skep::ErrorPlace.backtrace(error([GEM, APP, OWN, worker, OWN, APP]))
    assert_equal [OWN], Skep::ErrorPlace.backtrace(error([OWN]))
    assert_equal [APP] * 20, Skep::ErrorPlace.backtrace(error([APP] * 500))
    assert_empty Skep::ErrorPlace.backtrace(error(nil))
  end

  test "an endless recursion has a place" do
    def self.again = again
    found = begin
      again
    rescue SystemStackError => e
      e
    end
    assert_match(%r{\Askep/test/error_place_test\.rb:\d+\z}, Skep::ErrorPlace.of(found))
  end

  private

  def error(backtrace)
    RuntimeError.new("no").tap { |error| error.set_backtrace(backtrace) if backtrace }
  end
end
