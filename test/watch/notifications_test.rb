# frozen_string_literal: true

require "test_helper"

# Each in a Ruby of its own: whether ActiveSupport is loaded is what it is about.
class NotificationsTest < Skep::TestCase
  # As much of it as is asked for: fanout's `listening?` and `instrument`.
  ACTIVE_SUPPORT = <<~RUBY
    module ActiveSupport
      module Notifications
        PATTERNS = []
        def self.notifier = self
        def self.subscribe(pattern) = PATTERNS << pattern
        def self.listening?(name) = PATTERNS.any? { |pattern| pattern === name }
        def self.instrument(name, payload) = puts("\#{name} \#{payload}")
      end
    end
  RUBY
  private_constant :ACTIVE_SUPPORT

  test "passes events on to who listens" do
    assert_equal ["true", "node_died.skep {:node=>1}"], ask(<<~RUBY)
      #{ACTIVE_SUPPORT}
      ActiveSupport::Notifications.subscribe("node_died.skep")
    RUBY
    assert_equal "true", ask("#{ACTIVE_SUPPORT}ActiveSupport::Notifications.subscribe(/skep/)").first
  end

  test "isn't wanted where nobody listens" do
    assert_equal "false", ask(ACTIVE_SUPPORT).first
    assert_equal "false", ask("#{ACTIVE_SUPPORT}ActiveSupport::Notifications.subscribe(/sql/)").first
  end

  test "passes nothing on where there is no ActiveSupport" do
    assert_equal ["false"], ask("")
  end

  private

  def ask(program)
    out, err, = run_program(<<~RUBY, env: { "RUBYOPT" => "--disable=gems" })
      require "skep/watch"
      #{program}
      puts Skep::Watch::Notifications.wanted?
      Skep::Watch::Notifications.tell("node_died", { "node" => 1 })
    RUBY
    assert_equal "", err
    out.lines(chomp: true).map { |line| line.sub("{node: 1}", "{:node=>1}") }
  end
end
