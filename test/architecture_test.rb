# frozen_string_literal: true

require "test_helper"

# Rooms know only the rooms under them: each is booted alone, in a fresh Ruby that warns and has
# no gems.
class ArchitectureTest < Skep::TestCase
  Room = Struct.new(:constant, :below, :facade, keyword_init: true)

  ROOMS = {
    "os" => Room.new(constant: "OS", below: [], facade: %w[pidfd]),
    "fork" => Room.new(constant: "Fork", below: %w[os], facade: %w[pid generation on_fork warmup]),
    "threads" => Room.new(constant: "Threads", below: %w[os fork], facade: []),
    "swarm" => Room.new(constant: "Swarm", below: %w[os fork threads], facade: %w[swarm]),
    "work" => Room.new(constant: "Work", below: %w[os fork threads swarm],
                       facade: %w[map each each_with_index flat_map filter_map]),
    "watch" => Room.new(constant: "Watch", below: %w[os fork threads swarm], facade: []),
    "cli" => Room.new(constant: "CLI", below: %w[os fork threads swarm work watch], facade: [])
  }.freeze
  ROOT = File.expand_path("..", __dir__)
  private_constant :Room, :ROOMS, :ROOT

  ROOMS.each do |name, room|
    strangers = ROOMS.except(name, *room.below)

    { "in C" => nil, "on its fallbacks" => "1" }.each do |how, pure|
      test "#{name} boots alone #{how}, and brings along only rooms under it" do
        constants, facade = boot("skep/#{name}", pure)
        assert_includes constants, room.constant
        assert_empty constants & strangers.values.map(&:constant)
        assert_equal room.facade, facade & room.facade
        assert_empty facade & strangers.values.flat_map(&:facade)
      end
    end

    test "#{name} names only rooms under it" do
      foreign = strangers.flat_map { |other, facts| ["skep/#{other}", "Skep::#{facts.constant}"] }
      refute_empty code_of(name)
      assert_empty code_of(name).grep(/(?:#{foreign.join("|")})\b/) if foreign.any?
    end
  end

  test "skep itself wires all rooms but cli, which is the executable's" do
    constants, facade = boot("skep", nil)
    assert_equal ROOMS.except("cli").values.map(&:constant), constants
    assert_equal ROOMS.values.flat_map(&:facade), facade
  end

  private

  # The rooms' constants and facade methods that are defined once the feature has been required.
  def boot(feature, pure)
    program = <<~RUBY
      require #{feature.inspect}
      puts #{ROOMS.values.map(&:constant)}.select { |name| Skep.const_defined?(name, false) }.join(" ")
      puts #{ROOMS.values.flat_map(&:facade)}.select { |name| Skep.respond_to?(name) }.join(" ")
    RUBY
    env = { "SKEP_PURE" => pure, "RUBYOPT" => "--disable=gems" }
    out, err, status = run_program(program, env:)
    assert_equal "", err
    assert_predicate status, :success?
    out.lines.map(&:split)
  end

  # The room's code as "path:line: text", comments left out.
  def code_of(room)
    Dir.glob("lib/skep/#{room}{.rb,/**/*.rb}", base: ROOT).flat_map do |path|
      lines = File.readlines("#{ROOT}/#{path}", encoding: "UTF-8")
      lines.map.with_index(1) { |line, number| "#{path}:#{number}: #{line}" unless line[/\A\s*#/] }
    end.compact
  end
end
