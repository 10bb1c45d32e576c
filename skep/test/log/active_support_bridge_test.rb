# frozen_string_literal: true

require "test_helper"

# Each test runs in its own Ruby process, because loading ActiveSupport is part of the condition.
class ActiveSupportBridgeTest < Skep::TestCase
  SUBSCRIBE = <<~RUBY
    require "active_support"
    require "active_support/notifications"
    show = ->(event) { puts "\#{event.name} \#{event.payload[:node]}" }
  RUBY
  private_constant :SUBSCRIBE

  test "passes an event to a subscriber of its name" do
    subscription = 'ActiveSupport::Notifications.subscribe("node_died.skep", &show)'

    assert_equal ["true", "node_died.skep 1"], with_active_support(subscription)
  end

  test "passes an event to a subscriber of a pattern" do
    assert_equal ["true", "node_died.skep 1"],
                 with_active_support("ActiveSupport::Notifications.subscribe(/skep/, &show)")
  end

  test "wanted? is false without a subscriber to skep's events" do
    assert_equal ["false"], with_active_support("")
    assert_equal ["false"],
                 with_active_support("ActiveSupport::Notifications.subscribe(/sql/, &show)")
  end

  test "passes nothing if the application hasn't loaded ActiveSupport" do
    assert_equal ["false"], run_bridge("", env: { "RUBYOPT" => "--disable=gems" })
  end

  private

  def with_active_support(program)
    Gem::Specification.find_by_name("activesupport")
    run_bridge("#{SUBSCRIBE}#{program}", gems: true)
  rescue Gem::MissingSpecError
    skip "there is no activesupport"
  end

  def run_bridge(program, **options)
    out, err, status = run_program(<<~RUBY, **options)
      #{program}
      require "skep/log"
      puts Skep::Log::ActiveSupportBridge.wanted?
      Skep::Log::ActiveSupportBridge.report("node_died", { "node" => 1 })
    RUBY
    assert_predicate status, :success?, err
    out.lines(chomp: true)
  end
end
